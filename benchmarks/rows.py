"""What a watermark costs per row: none, a watermark, and a watermark with a filter and a projection behind it."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from runs import head, interleaved, line, progress


def _source(spark: SparkSession, rows: int) -> DataFrame:
    options = {"rowsPerBatch": str(rows), "numPartitions": "1", "advanceMillisPerBatch": "1000"}
    return spark.readStream.format("rate-micro-batch").options(**options).load()


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "no watermark": lambda df: df,
    "watermark": lambda df: df.withWatermark("timestamp", "10 seconds"),
    "no watermark, filter, project": lambda df: df.where("value % 3 > 0").select(
        F.expr("value * 2 AS v"), "timestamp"
    ),
    "watermark, filter, project": lambda df: (
        df.withWatermark("timestamp", "10 seconds")
        .where("unix_micros(timestamp) % 7 < 9")
        .where("value % 3 > 0")
        .select(F.expr("value * 2 AS v"), "timestamp")
    ),
}


def rows(spark: SparkSession, rounds: int, million: int) -> None:
    """Prints ns per row of each query, by both engines."""
    count = million * 1_000_000
    print(head(f"Per row ({million} million rows a batch, one core)"))
    for label, query in QUERIES.items():

        def measure(engine: str, build: Callable[[DataFrame], DataFrame] = query) -> float:
            done = progress(spark, engine, build(_source(spark, count)), batches=3)
            return statistics.median(p["durationMs"]["addBatch"] for p in done) * 1e6 / count

        print(line(label, "ns/row", *interleaved(rounds, measure)), flush=True)
