"""`read_between` with a real Kafka broker, on classic Spark or on Spark Connect."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.processes import result

import tidemark
from common.ending import clean_end
from kafka_broker.broker import broker
from kafka_broker.jars import connector_jars
from kafka_broker.topic import Record, fill, make_topic
from tidemark import TidemarkError
from tidemark.marks import Cut, KafkaPosition

folder, mode = Path(sys.argv[1]), sys.argv[2]
HOURS = [datetime(2024, 1, 1, hour) for hour in (10, 11, 12)]


def utc(time: datetime) -> str:
    return f"{time.isoformat()}Z"


def send(servers: str, partition: int, *times: datetime) -> None:
    rows = (Record(partition, "", json.dumps({"time": utc(time)})) for time in times)
    for _ in fill(servers, "orders", rows):
        pass


def code_of(ask: Callable[[], object]) -> str | None:
    try:
        ask()
    except TidemarkError as error:
        return error.code
    return None


def main(servers: str) -> None:
    builder = SparkSession.builder
    builder = builder.remote("local[2]") if mode == "connect" else builder.master("local[2]")
    spark = (
        builder.config("spark.jars", ",".join(connector_jars()))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    brokers = {"kafka.bootstrap.servers": servers, "subscribe": "orders"}
    event_time = F.from_json(F.col("value").cast("string"), "time TIMESTAMP")["time"]

    def between(start: object, end: object, **more: object) -> DataFrame:
        options = {**brokers, **more.pop("options", {})}
        return tidemark.read_between(spark, start, end, format="kafka", options=options, **more)

    def times(rows: DataFrame) -> list[str]:
        found = rows.select(F.date_format(event_time, "HH:mm").alias("time")).collect()
        return sorted(row["time"] for row in found)

    make_topic(servers, "orders", 3)
    make_topic(servers, "secrets", 1)
    for _ in fill(servers, "secrets", [Record(0, "", "secret")] * 5):
        pass
    marks = tidemark.marks.Marks(folder / "_tidemark")
    ends: dict[int, int] = {}
    with marks.writer("eu") as writer:
        for number, hour in enumerate(HOURS):
            # The third partition has its first row in the last hour. Half an hour of rows is ahead.
            for partition in [0, 1, 2] if number == 2 else [0, 1]:
                minutes = range(partition, 90, 30)
                some = [hour - timedelta(minutes=60 - minute) for minute in minutes]
                send(servers, partition, *some)
                ends[partition] = ends.get(partition, 0) + len(some)
            position = KafkaPosition({"orders": dict(ends), "secrets": {0: number + 1}})
            writer.note_time(utc(hour), position, max_time=utc(hour + timedelta(minutes=30)))
    first, second, third = (marks.cut_at(utc(hour)) for hour in HOURS)
    found: dict[str, object] = {"session": type(spark).__module__}
    found["ranges"] = [
        times(between(*pair)) for pair in [(None, first), (first, second), (second, third)]
    ]
    found["whole"] = times(between(None, third))
    hours = {"by": "event_time", "marks": marks, "time": event_time}
    at_half = utc(datetime(2024, 1, 1, 10, 40)), utc(datetime(2024, 1, 1, 11, 30))
    exact = between(*at_half, **hours)
    found["exact"] = times(exact)
    nothing = between(third, third)
    found["nothing"] = [nothing.count(), nothing.columns == exact.columns]
    found["refused"] = [
        code_of(partial(between, None, third, options=more))
        for more in (
            {"failOnDataLoss": "false"}, {"startingOffsets": "latest"}, {"assign": "{}"},
            {"subscribe": ""}, {"subscribe": "nope"},
        )
    ]  # fmt: skip
    ahead = [Cut(KafkaPosition({"orders": offsets})) for offsets in ({0: 1000}, {9: 1})]
    found["ahead"] = [code_of(partial(between, None, offsets)) for offsets in ahead]

    # Transactions leave offsets without records, also at the end and between ranges.
    make_topic(servers, "paid", 1)
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "paid"})
    producer.init_transactions()
    for values, is_committed in [(["1", "2"], True), (["3"], False), (["4"], True)]:
        producer.begin_transaction()
        for value in values:
            producer.produce("paid", value, partition=0)
        # Otherwise an aborted transaction would never send its record.
        producer.flush(60)
        _ = producer.commit_transaction() if is_committed else producer.abort_transaction()
    cuts = [None, *(Cut(KafkaPosition({"paid": {0: offset}})) for offset in (2, 3, 5, 7))]
    committed = {"subscribe": "paid", "kafka.isolation.level": "read_committed"}
    found["paid"] = [
        [row["value"].decode() for row in between(*pair, options=committed).collect()]
        for pair in pairwise(cuts)
    ]

    held = between(first, second)
    admin = AdminClient({"bootstrap.servers": servers})
    # The first record of the second range, so that only the rest of the range is left.
    gone = TopicPartition("orders", 1, 4)
    for future in admin.delete_records([gone]).values():
        future.result(timeout=60)
    try:
        held.collect()
        found["held"] = "read"
    except (PySparkException, Py4JJavaError) as problem:
        found["held"] = str(problem)
    found["gone"] = [code_of(partial(between, *pair)) for pair in [(None, first), (first, second)]]
    try:
        between(first, second)
    except TidemarkError as error:
        found["says"] = str(error)
    last_half = [utc(datetime(2024, 1, 1, hour, 31)) for hour in (9, 11)]
    found["by time"] = [
        code_of(lambda: between(last_half[0], utc(HOURS[2]), **hours)),
        times(between(last_half[1], utc(HOURS[2]), **hours)),
    ]
    found["later"] = times(between(second, third))
    at_earliest = Cut(KafkaPosition({"orders": {0: 3, 1: 4}}))
    found["at earliest"] = times(between(at_earliest, second))
    result(**found)
    spark.stop()


with clean_end(), broker(folder / "broker") as address:
    main(address)
