"""How long after the first of two queries has noted the end of a window the second one emits its own."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

import tidemark
from tidemark.marks import Marks

TRIGGER = "2 seconds"
WINDOW = "5 seconds"
SCHEMA = "window STRUCT<start: TIMESTAMP, end: TIMESTAMP>, count LONG"


def latency(spark: SparkSession, seconds: int) -> None:
    """Prints the time from the mark of the first query to the window of the second one.

    Args:
        spark: The session.
        seconds: How long both run.
    """
    folder = Path(tempfile.mkdtemp(prefix="tidemark-bench-latency-"))
    emitted: dict[int, float] = {}

    def keep(batch: DataFrame, _: int) -> None:
        for row in batch.select(F.unix_millis("window.end").alias("end")).collect():
            emitted.setdefault(row["end"], time.time() * 1000)

    first = _start(_first(spark), folder, "first", lambda writer: writer.format("parquet"))
    # The second query reads the log of the first one's sink from the start.
    while not list((folder / "out").glob("_spark_metadata/0")):
        time.sleep(0.1)
    second = _start(
        _second(spark, folder), folder, "second", lambda writer: writer.foreachBatch(keep)
    )
    try:
        time.sleep(seconds)
    finally:
        second.stop()
        first.stop()
        marks = Marks(folder / "out" / "_tidemark").read().marks
        shutil.rmtree(folder, ignore_errors=True)
    noted = sorted(
        (mark.time_millis, mark.written_millis) for mark in marks if mark.time_millis is not None
    )
    took = [
        at - min(written for millis, written in noted if millis >= end)
        for end, at in emitted.items()
    ]
    percentiles = quantiles(took, n=20)
    print(
        f"\nThe second query behind the first one's mark, triggers of {TRIGGER}, {len(took)} windows: "
        f"p50 {percentiles[9] / 1000:.1f} s, p90 {percentiles[17] / 1000:.1f} s, most {max(took) / 1000:.1f} s"
    )


def _first(spark: SparkSession) -> DataFrame:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    counts = (
        rows.withWatermark("timestamp", "0 seconds").groupBy(F.window("timestamp", WINDOW)).count()
    )
    return tidemark.note_time(counts, "window", to=True)


def _second(spark: SparkSession, folder: Path) -> DataFrame:
    rows = spark.readStream.schema(SCHEMA).parquet(str(folder / "out"))
    # The last moment of a window, so that the windows of both queries are the same.
    rows = rows.withColumn("time", F.expr("window.end - INTERVAL 0.000001 SECOND"))
    rows = tidemark.with_watermark(rows, "time", noted=str(folder / "out" / "_tidemark"))
    return rows.groupBy(F.window("time", WINDOW)).agg(F.sum("count"))


def _start(df: DataFrame, folder: Path, name: str, sink: Callable[..., object]) -> StreamingQuery:
    writer = df.writeStream.trigger(processingTime=TRIGGER)
    writer = writer.option("checkpointLocation", str(folder / name)).option(
        "path", str(folder / "out")
    )
    sink(writer)
    return writer.start()
