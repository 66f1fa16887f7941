"""What a watermark costs per row: none, a watermark, and a watermark with a filter and a projection behind it."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from runs import Compared, head, interleaved, line, task_cpu


def source(spark: SparkSession, rows: int) -> DataFrame:
    """Batches of so many rows of two numbers, in one task; a second of event time each."""
    options = {"rowsPerBatch": str(rows), "numPartitions": "1", "advanceMillisPerBatch": "1000"}
    return spark.readStream.format("rate-micro-batch").options(**options).load()


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "no watermark": lambda df: df,
    "watermark": lambda df: df.withWatermark("timestamp", "10 seconds"),
    "no watermark, filter, project": lambda df: _filtered(df),
    "watermark, filter, project": lambda df: _filtered(df.withWatermark("timestamp", "10 seconds")),
}

# What a watermark costs is the second less the first of each pair.
PAIRS = (
    ("no watermark", "watermark"),
    ("no watermark, filter, project", "watermark, filter, project"),
)


def _filtered(df: DataFrame) -> DataFrame:
    # The first filter drops no row. It reads the event time, and so stays above the watermark.
    return (
        df.where("unix_micros(timestamp) % 7 < 9")
        .where("value % 3 > 0")
        .select(F.expr("value * 2 AS v"), "timestamp")
    )


def rows(spark: SparkSession, rounds: int, million: int) -> None:
    """Prints ns per row of each query by both engines (CPU time of tasks), and what its watermark adds."""
    count = million * 1_000_000
    found: dict[str, Compared] = {}
    print(head(f"Per row ({million} million rows a batch, CPU time of tasks)"))
    for label, query in QUERIES.items():

        def measure(
            engine: str, build: Callable[[DataFrame], DataFrame] = query
        ) -> dict[str, float]:
            took = task_cpu(spark, engine, lambda: build(source(spark, count)), batches=3)
            return {"ns": took / count}

        found[label] = interleaved(rounds, measure)["ns"]
        print(line(label, "ns/row", found[label]), flush=True)

    print("\nThe watermark alone: with it, less without it")
    for without, with_ in PAIRS:
        stock, ours = (
            marked - bare for marked, bare in zip(found[with_][:2], found[without][:2], strict=True)
        )
        print(f"{with_:42} {stock:9.1f} {ours:9.1f} ns/row {ours / stock:6.2f}x", flush=True)
