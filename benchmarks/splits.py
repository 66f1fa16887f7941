"""What a watermark costs per row when its input is split, beside what stock's costs without splits."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rows import source
from runs import progress

import tidemark

DELAY = "10 seconds"
BATCHES = 3


def splits(spark: SparkSession, rounds: int, million: int, counts: tuple[int, ...]) -> None:
    """Prints what is added to ns per row by each kind of watermark, and its ratio to what stock's adds."""
    rows = million * 1_000_000
    cases: dict[str, tuple[str, Callable[[DataFrame], DataFrame]]] = {
        "none": ("stock", lambda df: df),
        "stock, one clock": ("stock", lambda df: df.withWatermark("timestamp", DELAY)),
        "Tidemark, one clock": ("tidemark", lambda df: df.withWatermark("timestamp", DELAY)),
    }
    for count in counts:
        cases[f"Tidemark, {count:,} splits"] = ("tidemark", _split(count))
    runs: dict[str, list[float]] = {label: [] for label in cases}
    for number in range(rounds + 1):
        for label, (engine, build) in cases.items():
            done = progress(spark, engine, lambda b=build: b(source(spark, rows)), batches=BATCHES)
            took = statistics.median(p["durationMs"]["addBatch"] for p in done)
            # The first round compiles the code.
            if number > 0:
                runs[label].append(took * 1e6 / rows)

    print(f"\nSplits ({million} million rows a batch, one core): added to a row by its watermark")
    stock = _added(runs, "stock, one clock")
    for label in list(cases)[1:]:
        ours = _added(runs, label)
        ratios = [a / b for a, b in zip(ours, stock, strict=True)]
        print(
            f"{label:42} {statistics.median(ours):9.1f} ns/row {statistics.median(ratios):6.2f}x"
            f"  ({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


def _split(count: int) -> Callable[[DataFrame], DataFrame]:
    # Neighbouring rows are of different splits, which is the dearest case.
    by = F.expr(f"pmod(value * 7919, {count})")
    return lambda df: tidemark.with_watermark(df, "timestamp", DELAY, split_by=by)


def _added(runs: dict[str, list[float]], label: str) -> list[float]:
    return [with_ - bare for with_, bare in zip(runs[label], runs["none"], strict=True)]
