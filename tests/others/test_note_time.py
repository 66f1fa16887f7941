"""A query that notes its time beside a Delta table, and a query that reads the table by these marks."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed

import tidemark
from tidemark.marks import Marks


def finished(rows: DataFrame, sink: Path, checkpoint: Path) -> None:
    query = (
        rows.writeStream.format("delta")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start(str(sink))
    )
    query.awaitTermination()


def test_a_query_notes_its_time_beside_a_delta_table_and_another_goes_by_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    quarters, hours = tmp_path / "quarters", tmp_path / "hours"
    feed = Feed(spark, tmp_path / "in", "time TIMESTAMP")

    def run() -> dict[int, int]:
        rows = feed.stream().withWatermark("time", "10 minutes")
        counts = rows.groupBy(F.window("time", "15 minutes")).agg(F.count("*").alias("n"))
        noted = tidemark.note_time(counts, "window", to=True, less="15 minutes")
        finished(noted.select("window.start", "n"), quarters, tmp_path / "first")
        # Versions without rows come in between.
        spark.sql(f"OPTIMIZE delta.`{quarters}`")
        stream = spark.readStream.format("delta").option("maxFilesPerTrigger", 1)
        timed = tidemark.with_watermark(stream.load(str(quarters)), "start", noted=True)
        total = timed.groupBy(F.window("start", "1 hour")).agg(F.sum("n").alias("n"))
        finished(total, hours, tmp_path / "second")
        out = spark.read.format("delta").load(str(hours)).collect()
        return {row["window"]["start"].hour: row["n"] for row in out}

    feed.add(*({"time": f"08:{minute:02}"} for minute in range(60)))
    assert run() == {}
    feed.add(*({"time": f"09:{minute:02}"} for minute in range(60)))
    assert run() == {8: 60}
    feed.add({"time": "10:30"})
    assert run() == {8: 60, 9: 60}
    marks = Marks(quarters / "_tidemark").read().marks
    versions = [
        json.loads(mark.position_text)["delta"]["version"] for mark in marks if mark.position_text
    ]
    assert versions == sorted(versions) and len(set(versions)) > 1
