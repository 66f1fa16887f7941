"""Watermarks that follow what writers note, from Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.raising import raising
from support.streams import Stepper, run_once

import tidemark
from tidemark import Noted
from tidemark.marks import Marks

SCHEMA = "time TIMESTAMP, site STRING"
DAY = datetime(2024, 1, 1, tzinfo=timezone.utc)


class Site:
    """A writer of files of JSON rows, which notes how far it is."""

    def __init__(self, lake: Path, name: str) -> None:
        self._lake, self._name, self._files = lake, name, 0
        lake.mkdir(exist_ok=True)
        self.writer = Marks(lake / "_tidemark").writer(name)

    def write(self, *minutes: int, noted: int | None = None) -> None:
        """A file of rows with these minutes of the day, and the minute that is noted behind it."""
        self._files += 1
        name = f"{self._name}-{self._files}.json"
        rows = [{"time": at(minute).isoformat(), "site": self._name} for minute in minutes]
        (self._lake / f".{name}").write_text("\n".join(map(json.dumps, rows)))
        # The mark comes first: a query that runs finds it in the batch that reads the file.
        if noted is not None:
            self.writer.note_time(at(noted), files=[name])
        (self._lake / f".{name}").rename(self._lake / name)


def at(minute: int) -> datetime:
    return DAY + timedelta(minutes=minute)


def hourly(df: DataFrame) -> DataFrame:
    return df.groupBy(F.window("time", "1 hour")).count().select(F.hour("window.start"), "count")


def lake(spark: SparkSession, path: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).json(str(path))


def test_no_row_is_late_however_late_a_writer_is(
    spark: SparkSession, tmp_path: Path, run: Callable[..., Stepper]
) -> None:
    eu, us = Site(tmp_path / "lake", "eu"), Site(tmp_path / "lake", "us")
    rows = tidemark.with_watermark(lake(spark, tmp_path / "lake"), "time", noted=True)
    stepper = run(hourly(rows))
    eu.write(10, 70, noted=70)
    us.write(5, noted=5)
    assert stepper.step() == []
    eu.write(200, noted=200)
    assert stepper.step() == []
    # Three hours behind the other one, and counted.
    us.write(20, 61, noted=61)
    assert stepper.step() == [(0, 3)]
    us.writer.end()
    eu.write(300, noted=300)
    assert stepper.step() == [(1, 2), (3, 1)]
    (origin,) = stepper.inputs().values()
    assert origin["splits"]["total"] == 2
    assert [split["name"] for split in origin["splits"]["worst"]] == ["eu"]


def test_the_same_in_sql_and_over_restarts(spark: SparkSession, tmp_path: Path) -> None:
    site = Site(tmp_path / "lake", "eu")
    options = json.dumps({"key": "lake", "noted": str(tmp_path / "lake" / "_tidemark")})
    lake(spark, tmp_path / "lake").createOrReplaceTempView("lake")
    marked = spark.sql(f"SELECT tidemark_event_time(time, '{options}') AS time FROM lake")
    counted = hourly(marked.withWatermark("time", "0 seconds"))
    out = []
    for step in range(1, 6):
        site.write(step * 40, step * 40 - 39, noted=step * 40)
        out.append(run_once(counted, tmp_path / "checkpoint"))
    assert out == [[], [(0, 3)], [(1, 2)], [], [(2, 4)]]


def test_a_writer_that_is_expected_holds_the_watermark(
    spark: SparkSession, tmp_path: Path, run: Callable[..., Stepper]
) -> None:
    eu = Site(tmp_path / "lake", "eu")
    log = Noted(Marks(tmp_path / "lake" / "_tidemark"), expected=["us"])
    stepper = run(
        hourly(tidemark.with_watermark(lake(spark, tmp_path / "lake"), "time", noted=log))
    )
    eu.write(70, noted=70)
    assert stepper.step() == []
    assert list(stepper.watermarks().values()) == [None]
    Site(tmp_path / "lake", "us").write(65, 5, noted=65)
    assert stepper.step() == [(0, 1)]


def test_the_time_window_of_a_batch_in_python_and_sql(
    spark: SparkSession, tmp_path: Path, run: Callable[..., Stepper]
) -> None:
    site = Site(tmp_path / "lake", "eu")
    rows = tidemark.with_watermark(lake(spark, tmp_path / "lake"), "time", noted=True, key="lake")
    columns = [tidemark.time_window("time"), F.expr("tidemark_time_window('lake')")]
    stepper = run(
        rows.select(*[F.minute(column[end]) for column in columns for end in ("lower", "upper")])
    )
    site.write(5, noted=5)
    assert stepper.step() == [(None, None, None, None)]
    site.write(10, noted=10)
    assert stepper.step() == [(5, None, 5, None)]


def test_an_input_whose_marks_are_of_something_else_is_refused_by_name(
    spark: SparkSession, tmp_path: Path, run: Callable[..., Stepper]
) -> None:
    site = Site(tmp_path / "lake", "eu")
    site.write(5)
    site.writer.note_time(at(5), tidemark.marks.KafkaPosition({"orders": {0: 5}}))
    rows = tidemark.with_watermark(lake(spark, tmp_path / "lake"), "time", noted=True)
    with raising("MARK_POSITION_MISMATCH"):
        run(hourly(rows)).step()


@pytest.mark.parametrize(
    ("options", "code", "parameters"),
    [
        ({"noted": 5}, "INVALID_OPTION", {"option": "noted", "value": 5}),
        ({"noted": "  "}, "INVALID_OPTION", {"option": "noted"}),
        ({"noted": "/log", "split_by": "site"}, "INVALID_OPTION", {"option": "split_by"}),
        ({}, "INVALID_DELAY", {"value": None}),
    ],
)
def test_wrong_options_are_refused(
    spark: SparkSession,
    tmp_path: Path,
    options: dict[str, Any],
    code: str,
    parameters: dict[str, Any],
) -> None:
    rows = spark.readStream.schema(SCHEMA).json(str(tmp_path))
    with raising(code, **parameters):
        tidemark.with_watermark(rows, "time", **options)


def test_an_input_without_one_path_needs_the_location_of_its_log(
    spark: SparkSession, run: Callable[..., Stepper]
) -> None:
    rate = spark.readStream.format("rate").load()
    marked = tidemark.with_watermark(rate, "timestamp", noted=True)
    with raising("INVALID_OPTION"):
        run(marked.groupBy(F.window("timestamp", "1 hour")).count()).step()


@pytest.mark.parametrize("expected", ["us", [1], 5])
def test_expected_writers_are_a_list_of_names(expected: Any) -> None:
    with raising("INVALID_OPTION", option="expected", value=expected):
        Noted("/log", expected=expected)
