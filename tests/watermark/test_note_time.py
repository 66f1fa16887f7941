"""A query that notes how far its output is, and queries that use it, from Python."""

from __future__ import annotations

import json
import os
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.pages import ROOT, blocks
from support.processes import PATIENCE_SECONDS
from support.raising import raising

import tidemark
from tidemark.errors import error_code
from tidemark.marks import Marks

DAY = datetime(2024, 1, 1, tzinfo=timezone.utc)


def at(minute: int) -> datetime:
    return DAY + timedelta(minutes=minute)


class Chain:
    """Readings in files, counted by quarters of an hour, and these counted by hours."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self._files = spark, folder, 0
        (folder / "readings").mkdir()

    def write(self, *minutes: int) -> None:
        self._files += 1
        rows = "\n".join(json.dumps({"time": at(minute).isoformat()}) for minute in minutes)
        (self.folder / "readings" / f"{self._files}.json").write_text(rows)

    def first(self) -> None:
        rows = self.spark.readStream.schema("time TIMESTAMP").json(str(self.folder / "readings"))
        quarters = (
            rows.withWatermark("time", "10 minutes")
            .groupBy(F.window("time", "15 minutes"))
            .agg(F.count("*").alias("n"))
        )
        noted = tidemark.note_time(quarters, "window", to=True, less="15 minutes")
        self._run(noted.select("window.start", "n"), "quarters")

    def second(self) -> None:
        if not (self.folder / "quarters").exists():
            return
        rows = self.spark.readStream.schema("start TIMESTAMP, n LONG")
        quarters = rows.parquet(str(self.folder / "quarters"))
        timed = tidemark.with_watermark(quarters, "start", noted=True)
        hours = timed.groupBy(F.window("start", "1 hour")).agg(F.sum("n").alias("n"))
        self._run(hours, "hours")

    def hours(self) -> dict[int, int]:
        if not (self.folder / "hours").exists():
            return {}
        rows = self.spark.read.schema("window STRUCT<start TIMESTAMP, end TIMESTAMP>, n LONG")
        return {
            row["window"]["start"].hour: row["n"]
            for row in rows.parquet(str(self.folder / "hours")).collect()
        }

    def _run(self, rows: DataFrame, name: str) -> None:
        query = (
            rows.writeStream.format("parquet")
            .option("checkpointLocation", str(self.folder / f"{name}-checkpoint"))
            .trigger(availableNow=True)
            .start(str(self.folder / name))
        )
        query.awaitTermination()


def test_an_hour_is_complete_in_the_second_query_when_the_first_one_has_noted_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    chain = Chain(spark, tmp_path)
    for hour in range(3):
        chain.write(*range(60 * hour, 60 * hour + 60))
        chain.first()
        chain.second()
    # The last reading is at 2:59. Ten minutes and a window less are complete.
    assert chain.hours() == {0: 60, 1: 60}
    assert Marks(tmp_path / "quarters" / "_tidemark").watermark().lower_millis == millis(154)
    chain.write(206)
    chain.first()
    chain.second()
    assert chain.hours() == {0: 60, 1: 60, 2: 60}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("to", None),
        ("to", ""),
        ("to", False),
        ("writer", " "),
        ("less", "soon"),
        ("less", "0 seconds"),
        ("position", 7),
        ("options", {"kafka.bootstrap.servers": None}),
        ("to_options", {"kafka.bootstrap.servers": 7}),
        ("on_failure", "stop"),
    ],
)
def test_an_option_that_is_none_is_refused_by_name(
    spark: SparkSession, option: str, value: object
) -> None:
    rows = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    given = {"to": "/log", option: value}
    with raising("INVALID_OPTION", option=option):
        # On Spark Connect, what the engine reads is refused at the first use.
        _ = tidemark.note_time(rows, "timestamp", **given).schema  # type: ignore[arg-type]


def test_a_column_without_a_watermark_is_refused_in_words(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    starts = rows.groupBy(F.window("timestamp", "1 hour")).count().select("window.start")
    with raising("NOTE_TIME_NOT_EVENT_TIME", column="start"):
        _ = tidemark.note_time(starts, "start", to="/log").schema


def test_a_column_of_another_data_frame_is_refused(spark: SparkSession) -> None:
    rows, other = (
        spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
        for _ in range(2)
    )
    assert tidemark.note_time(rows, rows["timestamp"], to="/log").columns == rows.columns
    with raising("UNKNOWN_COLUMN", column="timestamp"):
        tidemark.note_time(rows, other["timestamp"], to="/log")


def test_a_query_that_cannot_note_its_time_is_refused_before_it_starts(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    late = tidemark.note_time(rows, "timestamp", to=str(tmp_path)).groupBy("value").count()
    with pytest.raises(PySparkException) as caught:
        late.writeStream.format("memory").outputMode("update").queryName("refused").start()
    assert error_code(caught.value) == "NOTE_TIME_DROPPED"


def millis(minute: int) -> int:
    return int(at(minute).timestamp() * 1000)


def test_the_times_that_a_python_map_has_made_are_not_promised(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text(json.dumps({"time": at(0).isoformat()}))
    rows = spark.readStream.schema("time TIMESTAMP").json(str(tmp_path / "in"))
    timed = rows.withWatermark("time", "1 minute")
    mapped = timed.mapInPandas(lambda parts: parts, timed.schema)
    noted = tidemark.note_time(mapped, "time", to=str(tmp_path / "log"))
    query = noted.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "cp"))
    with pytest.raises(PySparkException) as caught:
        query.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    assert error_code(caught.value) == "NOTE_TIME_NOT_PROMISED"


def test_the_page_about_two_queries_runs_as_printed_and_counts_each_row_once(
    spark: SparkSession, one_partition: None, tmp_path: Path
) -> None:
    readings = tmp_path / "readings"
    readings.mkdir()
    hours = [{"time": at(60 * hour + 30).isoformat(), "site": "a"} for hour in range(6)] * 3
    last = {"time": at(60 * 8).isoformat(), "site": "a"}
    (readings / "1.json").write_text("\n".join(map(json.dumps, [*hours, last])))
    rows = spark.readStream.schema("time TIMESTAMP, site STRING").json(str(readings))
    names = {"spark": spark, "readings": rows, "F": F, "os": os, "tidemark": tidemark}
    first, second, *_ = blocks(ROOT / "docs" / "noted-time" / "queries.md", "python")
    try:
        for block in (first, second):
            exec(block.text.replace('"/lake/', f'"{tmp_path}/'), names)
        give_up = time.monotonic() + PATIENCE_SECONDS
        while len(counted := counts(spark, tmp_path / "shifts")) < 2 and time.monotonic() < give_up:
            time.sleep(0.2)
        assert counted == [(0, 9), (3, 9)]
    finally:
        for query in spark.streams.active:
            query.stop()


def counts(spark: SparkSession, folder: Path) -> list[tuple[int, int]]:
    """The hour at which each window in a folder begins, and its count."""
    if not folder.exists():
        return []
    rows = spark.read.schema("window STRUCT<start TIMESTAMP>, count LONG").parquet(str(folder))
    return sorted((row["window"]["start"].hour, row["count"]) for row in rows.collect())
