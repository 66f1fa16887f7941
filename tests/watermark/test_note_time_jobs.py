"""Two jobs in a chain that run by `AvailableNow`: the first one notes how far it is, and the second one uses that."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter
from support.streams import Row, run_once

import tidemark
from tidemark.marks import Marks

FIRST = datetime(2024, 1, 1, tzinfo=timezone.utc)
HOURS = (0, 12, 23)
"""The hours of each day that have a row."""

Write = Callable[[DataFrame, str], DataStreamWriter]


def by_file_sink(hours: DataFrame, folder: str) -> DataStreamWriter:
    noted = tidemark.note_time(hours, "time", to=True)
    return noted.writeStream.format("parquet").option("path", folder)


def by_foreach_batch(hours: DataFrame, folder: str) -> DataStreamWriter:
    noted = tidemark.note_time(hours, "time", to=True, position=f"files:{folder}")
    return noted.writeStream.foreachBatch(lambda rows, _: rows.write.mode("append").parquet(folder))


class Jobs:
    """Readings in files, counted by hours in a first job, and these by days in a second one."""

    def __init__(self, spark: SparkSession, lake: Path, write: Write) -> None:
        self._spark, self._lake, self._write = spark, lake, write
        self._readings, self._hourly = lake / "readings", lake / "hourly"
        for folder in (self._readings, self._hourly):
            folder.mkdir()
        self._gateway = Marks(self._readings / "_tidemark").writer("gateway")

    def arrive(self, day: int) -> None:
        """The rows of a day arrive, and the gateway notes the time until its last hour."""
        rows = [{"time": at(day, hour, 20).isoformat()} for hour in HOURS]
        (self._readings / f"{day}.json").write_text("\n".join(map(json.dumps, rows)))
        self._gateway.note_time(at(day, 23), files=[f"{day}.json"])

    def pass_midnight(self, day: int) -> None:
        """The gateway notes the end of a day. No row comes with it."""
        self._gateway.note_time(at(day + 1), files=[])

    def first(self) -> None:
        rows = self._spark.readStream.schema("time TIMESTAMP").json(str(self._readings))
        hours = (
            tidemark.with_watermark(rows, "time", noted=True)
            .groupBy(F.window("time", "1 hour"))
            .agg(F.count("*").alias("n"))
            .select(F.window_time("window").alias("time"), "n")
        )
        query = (
            self._write(hours, str(self._hourly))
            .option("checkpointLocation", str(self._lake / "first"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    def second(self) -> list[Row]:
        """The days that a run emits: each with its number, and the count of its rows."""
        hours = self._spark.readStream.schema("time TIMESTAMP, n LONG").parquet(str(self._hourly))
        days = (
            tidemark.with_watermark(hours, "time", noted=True)
            .groupBy(F.window("time", "1 day"))
            .agg(F.sum("n").alias("n"))
        )
        return run_once(days.select(F.dayofyear("window.start") - 1, "n"), self._lake / "second")

    def hours(self) -> list[Row]:
        """All hours that the first job has emitted, each with the number of its day."""
        rows = self._spark.read.schema("time TIMESTAMP, n LONG").parquet(str(self._hourly))
        found = rows.select(F.dayofyear("time") - 1, F.hour("time")).collect()
        return sorted(tuple(row) for row in found)


def at(day: int, hour: int = 0, minute: int = 0) -> datetime:
    return FIRST + timedelta(days=day, hours=hour, minutes=minute)


@pytest.mark.parametrize(
    "write", [by_file_sink, pytest.param(by_foreach_batch, marks=pytest.mark.more)]
)
def test_the_last_hour_of_a_day_comes_out_without_a_row_of_the_next_one(
    spark: SparkSession, one_partition: None, tmp_path: Path, write: Write
) -> None:
    jobs = Jobs(spark, tmp_path, write)
    for day in range(3):
        before = [(earlier, hour) for earlier in range(day) for hour in HOURS]
        jobs.arrive(day)
        jobs.first()
        assert jobs.hours() == [*before, (day, 0), (day, 12)]
        assert jobs.second() == []
        jobs.pass_midnight(day)
        jobs.first()
        assert jobs.hours() == [*before, (day, 0), (day, 12), (day, 23)]
        assert jobs.second() == [(day, 3)]


def test_a_second_job_that_runs_before_the_first_one_emits_the_day_in_its_next_run(
    spark: SparkSession, one_partition: None, tmp_path: Path
) -> None:
    jobs = Jobs(spark, tmp_path, by_file_sink)
    jobs.arrive(0)
    jobs.pass_midnight(0)
    assert jobs.second() == []
    jobs.first()
    assert jobs.second() == [(0, 3)]
    # There is nothing new, so a run emits nothing again.
    jobs.first()
    assert jobs.second() == []
