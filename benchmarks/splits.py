"""What a watermark costs per row when its input is split, beside what stock's costs without splits."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from runs import WARM_UP, task_cpu

import tidemark

DELAY = "10 seconds"
BATCHES = 3
TEXTS = 2
"""Of the counts, how many are also measured with texts, which are columns of the file."""


def splits(spark: SparkSession, rounds: int, million: int, counts: tuple[int, ...]) -> None:
    """Prints what is added to ns per row by each kind of watermark, and its ratio to what stock's adds."""
    rows = million * 1_000_000
    cases = _cases(counts)
    folder = Path(tempfile.mkdtemp(prefix="tidemark-bench-files-"))
    try:
        runs = _measure(spark, rounds, rows, cases, _files(spark, rows, counts, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)

    print(f"\nSplits (a file of {million} million rows a batch)")
    print("CPU time of tasks that a watermark adds to a row; of stock's, without splits")
    added = {
        label: [with_ - bare for with_, bare in zip(runs[label], runs[none], strict=True)]
        for label, (_, _, none) in cases.items()
        if label != none
    }
    for label, ours in added.items():
        stock = added["stock, one clock"]
        ratios = [a / b for a, b in zip(ours, stock, strict=True)]
        print(
            f"{label:42} {statistics.median(ours):9.1f} ns/row {statistics.median(ratios):6.2f}x"
            f"  ({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


Query = Callable[[DataFrame], DataFrame]
Case = tuple[str, Query, str]
"""An engine, its query, and the case without a watermark that it is compared with."""


def _cases(counts: tuple[int, ...]) -> dict[str, Case]:
    few = _number(counts[0])
    texts = counts[:TEXTS]
    cases: dict[str, Case] = {"none": ("stock", few, "none")}
    for count in texts:
        cases[_bare(count)] = ("stock", _text(count), _bare(count))
    cases |= {
        "stock, one clock": ("stock", lambda df: _plain(few(df)), "none"),
        "Tidemark, one clock": ("tidemark", lambda df: _plain(few(df)), "none"),
    }
    for count in counts:
        by = _number(count)
        cases[f"Tidemark, {count:,} splits"] = (
            "tidemark",
            lambda df, by=by: _split(by(df)),
            "none",
        )
    for count in texts:
        by = _text(count)
        cases[f"Tidemark, {count:,} splits, text"] = (
            "tidemark",
            lambda df, by=by: _split(by(df)),
            _bare(count),
        )
    return cases


def _bare(count: int) -> str:
    return f"none, {count:,} texts"


# Of neighbouring rows each is of another device, which is the dearest case.
def _number(count: int) -> Query:
    return lambda df: df.select(
        "value", "timestamp", F.expr(f"pmod(value * 7919, {count})").alias("device")
    )


def _text(count: int) -> Query:
    return lambda df: df.select("value", "timestamp", F.col(f"device_{count}").alias("device"))


def _measure(
    spark: SparkSession, rounds: int, rows: int, cases: dict[str, Case], files: str
) -> dict[str, list[float]]:
    runs: dict[str, list[float]] = {label: [] for label in cases}
    for round_ in range(rounds + 1):
        for label, (engine, build, _) in cases.items():
            took = task_cpu(spark, engine, lambda b=build: b(_read(spark, files)), batches=BATCHES)
            # The first round compiles the code.
            if round_ > 0:
                runs[label].append(took / rows)
    return runs


def _files(spark: SparkSession, rows: int, counts: tuple[int, ...], folder: Path) -> str:
    """A folder with a file of so many rows for each batch: one file, under several names."""
    once = folder / "once"
    spark.range(0, rows, 1, 1).select(
        F.col("id").alias("value"),
        F.expr("timestamp_millis(1700000000000 + id div 1000) AS timestamp"),
        *(
            F.expr(f"'device-' || pmod(id * 7919, {count}) AS device_{count}")
            for count in counts[:TEXTS]
        ),
    ).write.parquet(str(once))
    (written,) = once.glob("*.parquet")
    every = folder / "every"
    every.mkdir()
    for batch in range(WARM_UP + BATCHES):
        (every / f"{batch}.parquet").hardlink_to(written)
    return str(every)


def _read(spark: SparkSession, files: str) -> DataFrame:
    stream = spark.readStream.schema(spark.read.parquet(files).schema)
    return stream.option("maxFilesPerTrigger", "1").parquet(files)


def _plain(df: DataFrame) -> DataFrame:
    return df.withWatermark("timestamp", DELAY)


def _split(df: DataFrame) -> DataFrame:
    return tidemark.with_watermark(df, "timestamp", DELAY, split_by="device")
