"""Counts orders by the hour from Kafka, loses late ones, and counts the lost hours again in a batch.

The second partition of the topic falls behind the first by up to two hours, and the query waits for
10 minutes, so it drops rows. The batch query begins where nothing after 11:00 had been read, and so
sees all of them.

    python -m backfill
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidemark
from common.folder import fast_folder
from common.session import session
from common.table import render
from kafka_broker.broker import broker
from kafka_broker.jars import connector_jars
from kafka_broker.topic import Record, fill, make_topic

TOPIC = "orders"
START = datetime(2024, 1, 1, 10)
FROM = datetime(2024, 1, 1, 11)
MINUTES = 240
BEHIND = 120


def orders() -> Iterator[tuple[int, datetime]]:
    """Partition and event time, in the order of arrival."""
    for minute in range(MINUTES):
        yield 0, START + timedelta(minutes=minute)
        if minute >= BEHIND:
            yield 1, START + timedelta(minutes=minute - BEHIND)


def records() -> Iterator[Record]:
    for partition, time in orders():
        yield Record(partition, "", json.dumps({"time": f"{time:%Y-%m-%d %H:%M:%S}"}))


def times(records: DataFrame) -> DataFrame:
    return records.select(F.from_json(F.col("value").cast("string"), "time TIMESTAMP")["time"])


def hourly(times: DataFrame) -> DataFrame:
    return times.groupBy(F.window(times.columns[0], "1 hour")).count()


def stream(spark: SparkSession, servers: str, folder: Path) -> Counter[datetime]:
    """The counts that the streaming query emits."""
    read = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    read = read.option("subscribe", TOPIC).option("maxOffsetsPerTrigger", "30")
    read = read.option("startingOffsets", "earliest")
    marked = times(read.load()).toDF("time")
    marked = tidemark.with_watermark(marked, "time", "10 minutes", key="orders")
    query = (
        hourly(marked)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "out"))
    )
    query.awaitTermination()
    return counts(spark.read.parquet(str(folder / "out")))


def backfill(spark: SparkSession, servers: str, folder: Path) -> tuple[Counter[datetime], int]:
    """The counts of the hours from `FROM` on, and how many records were read for them."""
    before = FROM - timedelta(microseconds=1)
    [orders] = tidemark.offsets_at(folder / "checkpoint", before, edge="before")
    assert orders.starting is not None
    read = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", TOPIC)
        .option("startingOffsets", orders.starting)
        .option("endingOffsets", "latest")
        .load()
    )
    found = times(read).toDF("time")
    return counts(hourly(found.where(F.col("time") >= F.lit(FROM)))), found.count()


def counts(table: DataFrame) -> Counter[datetime]:
    return Counter({row["window"]["start"]: row["count"] for row in table.collect()})


def main() -> None:
    sent = list(orders())
    truth = Counter(time.replace(minute=0) for _, time in sent)
    with fast_folder("backfill") as folder, broker(folder / "broker") as servers:
        make_topic(servers, TOPIC, 2)
        for _ in fill(servers, TOPIC, records()):
            pass
        jars = {"spark.jars": ",".join([tidemark.jars.jar_path(), *connector_jars()])}
        spark = session("tidemark", folder / "spark", "backfill", jars)
        streamed = stream(spark, servers, folder)
        replayed, read = backfill(spark, servers, folder)
        spark.stop()
    lines = [
        [f"{hour:%H:%M}", str(truth[hour]), str(streamed[hour]), str(replayed[hour] or "")]
        for hour in sorted(truth)
    ]
    print(render(["hour", "orders", "streamed", "counted again"], lines))
    print(f"The backfill read {read} of {len(sent)} records.")


if __name__ == "__main__":
    main()
