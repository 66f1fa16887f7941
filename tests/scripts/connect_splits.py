"""Splits and idle times on a Spark Connect session."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.processes import result

import tidemark

folder = Path(sys.argv[1])
builder = SparkSession.builder.remote("local[2]").config("spark.sql.session.timeZone", "UTC")
spark = tidemark.configure(builder).getOrCreate()

feed = Feed(spark, folder / "events", "device STRING, time TIMESTAMP")
events = feed.stream().select(
    F.col("device").alias("device.id"), F.col("device"), F.col("time").alias("event.time")
)


def code_of(**options: Any) -> str | None:
    try:
        tidemark.with_watermark(events, "event.time", "1 minute", **options)
    except (tidemark.TidemarkError, IllegalArgumentException) as error:
        return tidemark.errors.error_code(error)
    return None


codes = [
    code_of(**options)
    for options in (
        {"split_by": "devise"}, {"split_by": []}, {"idle_after": "soon"},
        {"idle": tidemark.Idle("-1 minute")}, {"max_ahead": timedelta(0)}, {"idle": "go"},
        {"split_by": "device.id"},
    )
]  # fmt: skip

marked = tidemark.with_watermark(
    events,
    "event.time",
    "0 seconds",
    key="readings",
    split_by=tidemark.SplitBy(["device.id", F.upper("device")], expected=[("a", "A"), ("b", "B")]),
    idle=tidemark.Idle(timedelta(hours=1), on_return="catch_up", when_all="advance"),
    max_ahead="INTERVAL '1' DAY",
)
query = (
    marked.writeStream.format("memory")
    .queryName("readings")
    .option("checkpointLocation", str(folder / "checkpoint"))
    .start()
)
inputs = []
for device, time in (("a", "12:00"), ("b", "10:00")):
    feed.add({"device": device, "time": time})
    query.processAllAvailable()
    inputs += tidemark.report(query).to_dict()["inputs"]
query.stop()
log = (
    tidemark.watermark_log(folder / "checkpoint")
    .where("batch = 0")
    .select("key", "split", "held_by_split")
)
logged = sorted(tuple(row) for row in log.collect())
result(codes=codes, inputs=inputs, dtypes=[events.dtypes, marked.dtypes], log=logged)
spark.stop()
