"""A backlog in Kafka: eight partitions, one with a month to read and the others with a week.

Flights go into the partition of their airport, as a producer would put them there. One
partition was not read for all of January 2001; of the others only the last week is left.
Spark shares out each batch pro rata, so all come to their ends together, and until then the
one that began weeks earlier stays behind.

    python -m backlog.lagging_partition
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from tqdm import tqdm

from common.folder import out_folder
from kafka_broker.broker import broker
from kafka_broker.jars import connector_jars
from kafka_broker.topic import Record, fill, make_topic

from . import quota
from .case import Case
from .clock import seconds
from .flights import Flight, january
from .oracle import Batch
from .show import show

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPIC = "flights"
PARTITIONS = 8
LIMIT = 5000
"""``maxOffsetsPerTrigger``: rows in a batch, of all partitions together."""
LAST_WEEK = datetime(2001, 1, 25)

Partitions = list[list[Flight]]


def read(spark: SparkSession, servers: str) -> DataFrame:
    from pyspark.sql import functions as F

    stream = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", str(LIMIT))
        .load()
    )
    flight = F.from_json(F.col("value").cast("string"), "time TIMESTAMP")
    return stream.select("topic", "partition", flight["time"].alias("time"))


CASE = Case(
    "lagging_partition",
    split="partition",
    split_by=["topic", "partition"],
    read=read,
    jars=connector_jars,
)


def partition_of(flight: Flight) -> int:
    """The partition of a flight's key, as Kafka's C library chooses it."""
    return crc32(flight.origin.encode()) % PARTITIONS


def partitions_of(flights: Sequence[Flight]) -> Partitions:
    """What waits in each partition: a month in the busiest one, a week in the others."""
    [(lagging, _)] = Counter(map(partition_of, flights)).most_common(1)
    waiting: Partitions = [[] for _ in range(PARTITIONS)]
    for flight in flights:
        partition = partition_of(flight)
        if partition == lagging or flight.time >= LAST_WEEK:
            waiting[partition].append(flight)
    return waiting


def in_batches(partitions: Partitions) -> list[Batch]:
    """What each batch reads: the next rows of every partition, up to the partition's share."""
    ahead = [iter(flights) for flights in partitions]
    return [
        {
            partition: [seconds(flight.time) for flight in islice(ahead[partition], rows)]
            for partition, rows in enumerate(share)
        }
        for share in quota.batches([len(flights) for flights in partitions], LIMIT)
    ]


def send(servers: str, partitions: Partitions) -> None:
    """Makes the topic, and puts all of the backlog into it."""
    make_topic(servers, TOPIC, PARTITIONS)
    records = (
        Record(partition, flight.origin, json.dumps(flight.to_json()))
        for partition, flights in enumerate(partitions)
        for flight in flights
    )
    total = sum(map(len, partitions))
    for _ in tqdm(fill(servers, TOPIC, records), total=total, desc="sending", unit="row"):
        pass


def main() -> None:
    folder: Path = out_folder("lagging-partition")
    partitions = partitions_of(january())
    print(
        "A topic of flights in a Kafka broker: one partition holds January 2001, the seven others\n"
        f"its last week; a batch reads {LIMIT:,} rows, shared out by Spark as it does. Hourly\n"
        "departures per partition.\n",
        flush=True,
    )
    with broker(folder / "broker") as servers:
        send(servers, partitions)
        show(CASE, in_batches(partitions), folder, servers)


if __name__ == "__main__":
    main()
