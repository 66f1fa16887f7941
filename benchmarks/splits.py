"""What a watermark costs per row when its input is split, beside what stock's costs without splits."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rows import source
from runs import task_cpu

import tidemark

DELAY = "10 seconds"
BATCHES = 3


def splits(spark: SparkSession, rounds: int, million: int, counts: tuple[int, ...]) -> None:
    """Prints what is added to ns per row by each kind of watermark, and its ratio to what stock's adds."""
    rows = million * 1_000_000
    cases: dict[str, tuple[str, Callable[[DataFrame], DataFrame]]] = {
        "none": ("stock", lambda df: _devices(df, counts[0])),
        "stock, one clock": ("stock", lambda df: _plain(_devices(df, counts[0]))),
        "Tidemark, one clock": ("tidemark", lambda df: _plain(_devices(df, counts[0]))),
    }
    for count in counts:
        cases[f"Tidemark, {count:,} splits"] = ("tidemark", _split(count))
    runs: dict[str, list[float]] = {label: [] for label in cases}
    for number in range(rounds + 1):
        for label, (engine, build) in cases.items():
            took = task_cpu(spark, engine, lambda b=build: b(source(spark, rows)), batches=BATCHES)
            # The first round compiles the code.
            if number > 0:
                runs[label].append(took / rows)

    print(
        f"\nSplits ({million} million rows a batch): CPU time of tasks that a watermark adds to a row"
    )
    stock = _added(runs, "stock, one clock")
    for label in list(cases)[1:]:
        ours = _added(runs, label)
        ratios = [a / b for a, b in zip(ours, stock, strict=True)]
        print(
            f"{label:42} {statistics.median(ours):9.1f} ns/row {statistics.median(ratios):6.2f}x"
            f"  ({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


def _devices(df: DataFrame, count: int) -> DataFrame:
    # Neighbouring rows are of different devices, which is the dearest case.
    return df.withColumn("device", F.expr(f"pmod(value * 7919, {count})"))


def _plain(df: DataFrame) -> DataFrame:
    return df.withWatermark("timestamp", DELAY)


def _split(count: int) -> Callable[[DataFrame], DataFrame]:
    return lambda df: tidemark.with_watermark(
        _devices(df, count), "timestamp", DELAY, split_by="device"
    )


def _added(runs: dict[str, list[float]], label: str) -> list[float]:
    return [with_ - bare for with_, bare in zip(runs[label], runs["none"], strict=True)]
