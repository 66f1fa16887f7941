"""Two queries with marks in a topic, and rows in files: while the broker is down, and after it.

    broker_away.py FOLDER

The first query notes its time, and the second one uses it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from support.kafka_session import kafka_session
from support.processes import PATIENCE_SECONDS, result

import tidemark
from common.ending import clean_end
from kafka_broker.broker import Broker
from kafka_broker.topic import make_topic

HOUR = 3_600_000
START = int(datetime(2024, 1, 1, tzinfo=timezone.utc).timestamp()) * 1000
LOG = "kafka:tidemark-marks/quarters"
folder = Path(sys.argv[1])
hours: dict[int, int] = {}


def keep(batch: DataFrame, _: int) -> None:
    for row in batch.select(F.hour("window.start").alias("hour"), "count").collect():
        # An hour that is emitted twice would show.
        hours[row["hour"]] = hours.get(row["hour"], 0) + row["count"]


def first(spark: SparkSession, options: dict[str, str]) -> StreamingQuery:
    """Counts the readings of each quarter of an hour."""
    rows = spark.readStream.schema("time TIMESTAMP").json(str(folder / "in"))
    counts = rows.withWatermark("time", "0 seconds").groupBy(F.window("time", "15 minutes")).count()
    noted = tidemark.note_time(counts, "window", to=LOG, to_options=options)
    out = noted.select(F.col("window.end").alias("end"), "count")
    writer = out.writeStream.format("parquet").option("path", str(folder / "quarters"))
    return started(writer, "first")


def second(spark: SparkSession, options: dict[str, str]) -> StreamingQuery:
    """Counts these by hour."""
    rows = spark.readStream.schema("end TIMESTAMP, count LONG").parquet(str(folder / "quarters"))
    # The last moment of a quarter.
    rows = rows.withColumn("time", F.expr("end - INTERVAL 0.001 SECOND"))
    noted = tidemark.with_watermark(rows, "time", noted=tidemark.Noted(LOG, options=options))
    counts = noted.groupBy(F.window("time", "1 hour")).agg(F.sum("count").alias("count"))
    return started(counts.writeStream.foreachBatch(keep), "second")


def started(writer: object, name: str) -> StreamingQuery:
    writer = writer.option("checkpointLocation", str(folder / name))  # type: ignore[attr-defined]
    query: StreamingQuery = writer.trigger(processingTime="500 milliseconds").start()
    return query


def feed(hour: int) -> None:
    """The readings of an hour, one a minute; they end the hour before, and not their own."""
    times = (START + hour * HOUR + minute * 60_000 for minute in range(60))
    rows = "\n".join(json.dumps({"time": time // 1000}) for time in times)
    draft = folder / f".{hour}"
    draft.write_text(rows)
    draft.rename(folder / "in" / f"{hour}.json")


def wait(what: str, done: Callable[[], bool], queries: list[StreamingQuery]) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not done():
        for query in queries:
            if not query.isActive:
                raise SystemExit(f"{query.exception()}")
        if time.monotonic() > give_up:
            raise SystemExit(f"{what}: never. {hours}")
        time.sleep(0.1)


def read(query: StreamingQuery) -> int:
    return sum(progress["numInputRows"] for progress in query.recentProgress)


def late(query: StreamingQuery) -> int:
    return sum(
        int(operator["numRowsDroppedByWatermark"])
        for progress in query.recentProgress
        for operator in progress["stateOperators"]
    )


def main(broker: Broker) -> None:
    make_topic(broker.servers, "tidemark-marks", 2)
    options = {
        "kafka.bootstrap.servers": broker.servers,
        # Clients give up soon, so that a test does not take long.
        "kafka.request.timeout.ms": "2000",
        "kafka.default.api.timeout.ms": "4000",
        "kafka.max.block.ms": "3000",
        "kafka.delivery.timeout.ms": "4000",
    }
    (folder / "in").mkdir()
    feed(0)
    spark = kafka_session()
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10000")
    a = first(spark, options)
    wait("output", (folder / "quarters" / "_spark_metadata").exists, [a])
    b = second(spark, options)
    queries = [a, b]
    feed(1)
    wait("the first hour", lambda: 0 in hours, queries)
    broker.stop()
    rows = read(b)
    feed(2)
    # Four quarters come while the broker is down, and are read.
    wait("rows without a broker", lambda: read(b) >= rows + 4, queries)
    emitted_down = sorted(hours)
    failures = tidemark.report(a).to_dict()["outputs"][0]["failures"]
    broker.start()
    feed(3)
    wait("the hours after it", lambda: {1, 2} <= hours.keys(), queries)
    result(
        down=emitted_down,
        failures=failures,
        hours={str(hour): count for hour, count in sorted(hours.items())},
        late=late(b),
        active=[query.isActive for query in queries],
    )
    for query in queries:
        query.stop()
    spark.stop()


with clean_end():
    broker = Broker(folder / "kafka")
    try:
        broker.start()
        main(broker)
    finally:
        broker.stop()
