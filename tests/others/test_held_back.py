"""Splits of tables that are read a file at a time: a split with rows behind the limit is not idle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.feeds import millis
from support.streams import Stepper, run_once

import tidemark
from common.settings import with_settings

from .tables import Table, windows

Run = Callable[..., Stepper]

# Shorter than any batch: every split that may become idle does.
AT_ONCE = "1 millisecond"

HELD_BACK = [
    ("delta", "files"),
    ("delta", "bytes"),
    ("delta", "both"),
    ("delta change feed", "files"),
    ("iceberg", "files"),
    ("iceberg", "rows"),
]


def marked(table: Table) -> DataFrame:
    df = table.stream()
    df = tidemark.with_watermark(df, "time", "0 seconds", split_by="device", idle_after=AT_ONCE)
    return windows(df)


def backlog(table: Table) -> None:
    table.add(("a", "10:00"), ("b", "10:00"))
    for reading in [("a", "12:00"), ("a", "12:10"), ("a", "12:20"), ("b", "10:05")]:
        table.add(reading)


@pytest.mark.parametrize(("kind", "rule"), HELD_BACK)
@pytest.mark.parametrize("before", [True, False], ids=["at the start", "later"])
def test_a_split_with_rows_behind_an_admission_limit_is_not_idle(
    spark: SparkSession, run: Run, kind: str, rule: str, before: bool
) -> None:
    table = Table(spark, kind, "readings", rule).create()
    if before:
        backlog(table)
    else:
        table.add(("a", "09:00"))
    stepper = run(marked(table), mode="update")
    if not before:
        stepper.step()
        backlog(table)
    assert ("b", "10:00", 2) in stepper.step()


@pytest.mark.parametrize(("kind", "rule"), HELD_BACK)
def test_an_available_now_run_emits_the_rows_behind_an_admission_limit(
    spark: SparkSession, tmp_path: Path, kind: str, rule: str
) -> None:
    table = Table(spark, kind, "readings", rule).create()
    backlog(table)
    assert ("b", "10:00", 2) in run_once(marked(table), tmp_path / "checkpoint", mode="update")


@pytest.fixture
def only_data(spark: SparkSession) -> Iterator[None]:
    """Every batch has rows, because no-data batches are off."""
    with with_settings(spark, {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}):
        yield


@pytest.mark.usefixtures("only_data")
@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("delta", "no limit"),
        ("delta", "roomy bytes"),
        ("delta", "roomy files"),
        ("iceberg", "no limit"),
        ("iceberg", "roomy files"),
    ],
)
def test_a_silent_split_becomes_idle_while_another_has_rows_in_each_batch(
    spark: SparkSession, run: Run, kind: str, rule: str
) -> None:
    table = Table(spark, kind, "readings", rule).create()
    table.add(("a", "10:00"), ("b", "10:00"))
    stepper = run(marked(table))
    stepper.step()
    for time in ("10:30", "10:31", "10:32", "10:33"):
        table.add(("a", time))
        stepper.step()
    reached = stepper.watermarks()["time"]
    assert reached is not None and reached >= millis("10:30")


@pytest.mark.usefixtures("only_data")
def test_a_split_becomes_idle_although_the_table_is_compacted(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table(spark, "iceberg", "readings", "roomy files").create()
    out: list[tuple[object, ...]] = []

    def take(df: DataFrame, _batch: int) -> None:
        out.extend(tuple(row) for row in df.collect())
        # When the batch ends, the newest snapshot is one without new rows. The query skips it.
        table.compact()

    checkpoint = str(tmp_path / "checkpoint")
    writer = marked(table).writeStream.foreachBatch(take).option("checkpointLocation", checkpoint)
    table.add(("a", "10:00"), ("b", "10:00"))
    query = writer.start()
    try:
        query.processAllAvailable()
        for time in ("10:30", "10:31", "10:32", "10:33", "10:34"):
            table.add(("a", time))
            query.processAllAvailable()
    finally:
        query.stop()
    assert sorted(out) == [("a", "10:00", 1), ("b", "10:00", 1)]
