"""What a batch costs if much is in state and little is due: open windows, keys and join rows, few new rows."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from runs import ROCKSDB, head, interleaved, line, state_store, stepwise

from common.settings import with_settings

BEGIN = datetime(2024, 1, 1, 10, tzinfo=timezone.utc)
INPUTS = 20
ROWS = 1_000
KEPT_MINUTES = 1_000
MOST_ON_HEAP = 1_000_000
"""Rows in state that the HDFS-backed store may have: it keeps all of them, twice, in the memory of the driver here."""


@dataclass(frozen=True)
class Kept:
    """A query, over how many minutes of event time its first input is spread, and settings that it needs."""

    label: str
    minutes: int
    build: Callable[[DataFrame, DataFrame], DataFrame]
    settings: dict[str, str] = field(default_factory=dict)
    only_rocksdb: bool = False


def _hourly(rows: DataFrame, _again: DataFrame) -> DataFrame:
    counted = rows.withWatermark("t", "1 minute").groupBy("id", F.window("t", "1 hour"))
    return counted.count()


def _distinct(rows: DataFrame, _again: DataFrame) -> DataFrame:
    return rows.withWatermark("t", f"{KEPT_MINUTES} minutes").dropDuplicates(["id", "t"])


def _joined(rows: DataFrame, same_rows: DataFrame) -> DataFrame:
    left = rows.where("id % 2 = 0").select(F.expr("id div 2").alias("a"), F.col("t").alias("ta"))
    right = same_rows.where("id % 2 = 1").select(
        F.expr("id div 2").alias("b"), F.col("t").alias("tb")
    )
    near = f"INTERVAL {KEPT_MINUTES} MINUTES"
    return left.withWatermark("ta", "1 minute").join(
        right.withWatermark("tb", "1 minute"),
        F.expr(f"a = b AND tb BETWEEN ta - {near} AND ta + {near}"),
    )


WINDOWS = Kept("groups in one window of an hour", 1, _hourly)
KEYS = Kept("keys of dropDuplicates", KEPT_MINUTES, _distinct)
JOINED = Kept("rows of an inner join", KEPT_MINUTES, _joined)
# Spark finds what is due by its time in this format, which only RocksDB has.
JOINED_BY_TIME = Kept(
    "rows of an inner join, state format 4",
    KEPT_MINUTES,
    _joined,
    {"spark.sql.streaming.join.stateFormatVersion": "4"},
    only_rocksdb=True,
)


@contextmanager
def _inputs(spark: SparkSession, rows: int, minutes: int) -> Iterator[Path]:
    """A folder of inputs: the first with all rows, up to the first minute, then some of each of the next minutes."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-bench-state-"))
    try:
        for number in range(INPUTS + 1):
            many = spark.range(rows if number == 0 else ROWS)
            minute = F.lit(BEGIN + timedelta(minutes=number))
            # The rows a minute of later inputs, or all rows in one minute.
            back = F.expr(f"make_dt_interval(0, 0, -(id % {minutes}), id % 60)")
            later = F.expr("make_dt_interval(0, 0, 0, id % 60)")
            ids = many.id if number == 0 else (many.id * 7919 + number) % rows
            times = minute + (back if number == 0 else later)
            made = many.select(ids.alias("id"), times.alias("t"))
            made.coalesce(1).write.parquet(str(folder / f"{number:03}"))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def states(spark: SparkSession, rounds: int, sizes: tuple[int, ...], stores: list[str]) -> None:
    """Prints figures for each size of an open window, and for keys and join rows, by both engines."""
    cases = [(WINDOWS, size) for size in sizes]
    cases += [(KEYS, 1_000_000), (JOINED, 1_000_000), (JOINED_BY_TIME, 1_000_000)]
    for store in stores:
        for kept, rows in cases:
            if store != ROCKSDB and (kept.only_rocksdb or rows > MOST_ON_HEAP):
                continue
            print(head(f"{rows:,} {kept.label}, {INPUTS} inputs, {store}"), flush=True)
            with (
                with_settings(spark, state_store(store) | kept.settings),
                _inputs(spark, rows, kept.minutes) as folder,
            ):
                # More rows than that take minutes in each run.
                _compare(spark, rounds if rows <= MOST_ON_HEAP else 1, kept, folder)


def _compare(spark: SparkSession, rounds: int, kept: Kept, folder: Path) -> None:
    def build(at: Path) -> DataFrame:
        stream = spark.readStream.schema("id LONG, t TIMESTAMP")
        return kept.build(stream.parquet(str(at)), stream.parquet(str(at)))

    def measure(engine: str) -> dict[str, float]:
        run = stepwise(spark, engine, build, sorted(folder.iterdir()))
        return {
            "batches": len(run.triggers),
            "median trigger": statistics.median(run.triggers),
            "all triggers of an input": statistics.median(run.inputs),
            "CPU of tasks for an input": run.task_cpu / INPUTS * 1e3,
            "rows in state": run.peak_state / 1e3,
        }

    units = {"batches": "", "rows in state": "k"}
    for figure, compared in interleaved(rounds, measure).items():
        print(line(figure, units.get(figure, "ms"), compared), flush=True)
