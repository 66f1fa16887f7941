"""What a batch costs before and after its rows: the whole trigger, and its planning, for queries of several inputs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from runs import head, interleaved, line, progress

BATCHES = 20
FIGURES = {"triggerExecution": "", "queryPlanning": ": planning"}
MOST_COUNTS = 8
"""More state stores than these would time the disk, and not the engines."""


def _input(spark: SparkSession, number: int) -> DataFrame:
    options = {
        "rowsPerBatch": "10",
        "numPartitions": "1",
        "advanceMillisPerBatch": "1000",
        # Later than 1970, so that the watermark moves with every batch from the first on.
        "startTimestamp": "1700000000000",
    }
    stream = spark.readStream.format("rate-micro-batch").options(**options).load()
    timed = stream.select(
        F.col("timestamp").alias(f"t{number}"), F.col("value").alias(f"v{number}")
    )
    return timed.withWatermark(f"t{number}", "10 seconds")


def _counted(rows: DataFrame, time: str) -> DataFrame:
    return rows.groupBy(F.window(time, "5 seconds")).count().select("window.start", "count")


def _union(parts: Iterator[DataFrame]) -> DataFrame:
    return reduce(DataFrame.union, parts)


def _stateless(spark: SparkSession, inputs: int) -> DataFrame:
    return _union(_input(spark, n) for n in range(inputs))


def _counts(spark: SparkSession, inputs: int) -> DataFrame:
    return _union(_counted(_input(spark, n), f"t{n}") for n in range(inputs))


def _join(spark: SparkSession) -> DataFrame:
    within = F.expr("v0 = v1 AND t1 BETWEEN t0 - INTERVAL 2 SECONDS AND t0 + INTERVAL 2 SECONDS")
    return _input(spark, 0).join(_input(spark, 1), within, "left_outer")


def _queries(inputs: tuple[int, ...]) -> dict[str, Callable[[SparkSession], DataFrame]]:
    # Every default names its value now: the functions are called after the loops.
    found: dict[str, Callable[[SparkSession], DataFrame]] = {}
    for count in inputs:
        found[f"{count} inputs"] = lambda spark, n=count: _stateless(spark, n)
    for count in inputs:
        if count <= MOST_COUNTS:
            found[f"{count} inputs, a count of each"] = lambda spark, n=count: _counts(spark, n)
    found["a join of two inputs"] = _join
    # Stock refuses to count by one of the two times behind the join, so it has but one there.
    found["a join of two inputs, a count"] = lambda spark: _counted(_join(spark).drop("t1"), "t0")
    return found


def triggers(spark: SparkSession, rounds: int, inputs: tuple[int, ...]) -> None:
    """Prints ms per batch, of the whole trigger and of planning alone, by both engines."""
    print(head("A batch: the whole trigger, and of that its planning"))
    for label, query in _queries(inputs).items():

        def measure(
            engine: str, build: Callable[[SparkSession], DataFrame] = query
        ) -> dict[str, float]:
            done = progress(spark, engine, lambda: build(spark), BATCHES)
            return {f: statistics.median(p["durationMs"][f] for p in done) for f in FIGURES}

        for figure, compared in interleaved(rounds, measure).items():
            print(line(label + FIGURES[figure], "ms", compared), flush=True)
