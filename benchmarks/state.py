"""What a batch costs if much is in state and little is due: an open window of an hour, few new rows."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from runs import head, interleaved, line, stepwise

BEGIN = datetime(2024, 1, 1, 10, tzinfo=timezone.utc)
INPUTS = 20
ROWS = 1_000
PROVIDERS = "org.apache.spark.sql.execution.streaming.state"


def _hourly(spark: SparkSession, folder: Path) -> DataFrame:
    events = spark.readStream.schema("id LONG, t TIMESTAMP").parquet(str(folder))
    return events.withWatermark("t", "1 minute").groupBy("id", F.window("t", "1 hour")).count()


@contextmanager
def _inputs(spark: SparkSession, groups: int) -> Iterator[Path]:
    """A folder of inputs: the first with all groups, in one minute, then some rows of each of the next minutes."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-bench-state-"))
    try:
        for number in range(INPUTS + 1):
            rows = spark.range(groups if number == 0 else ROWS)
            minute = F.lit(BEGIN + timedelta(minutes=number))
            ids: Column = rows.id if number == 0 else (rows.id * 7919 + number) % groups
            timed = rows.select(
                ids.alias("id"), (minute + F.expr("make_dt_interval(0, 0, 0, id % 60)")).alias("t")
            )
            timed.coalesce(1).write.parquet(str(folder / f"{number:03}"))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def states(spark: SparkSession, rounds: int, sizes: tuple[int, ...], stores: list[str]) -> None:
    """Prints figures for each number of groups in one open window, by both engines, for each state store."""
    key = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(key)
    try:
        for store in stores:
            spark.conf.set(key, f"{PROVIDERS}.{store}")
            for groups in sizes:
                print(head(f"{groups:,} groups in one window of an hour, {INPUTS} inputs, {store}"))
                with _inputs(spark, groups) as folder:
                    _compare(spark, rounds, folder)
    finally:
        spark.conf.set(key, before)


def _compare(spark: SparkSession, rounds: int, folder: Path) -> None:
    def measure(engine: str) -> dict[str, float]:
        run = stepwise(spark, engine, lambda at: _hourly(spark, at), sorted(folder.iterdir()))
        return {
            "batches": len(run.triggers),
            "median trigger": statistics.median(run.triggers),
            "all triggers of an input": statistics.median(run.inputs),
            "CPU of tasks for an input": run.task_cpu / INPUTS * 1e3,
        }

    units = {"batches": ""}
    for figure, compared in interleaved(rounds, measure).items():
        print(line(figure, units.get(figure, "ms"), compared), flush=True)
