"""What a batch costs before and after its rows: the whole trigger, and its planning, for queries of several inputs."""

from __future__ import annotations

import statistics
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from runs import head, interleaved, line, progress

BATCHES = 20


def _query(spark: SparkSession, inputs: int) -> DataFrame:
    def one(number: int) -> DataFrame:
        options = {"rowsPerBatch": "10", "numPartitions": "1", "advanceMillisPerBatch": "1000"}
        stream = spark.readStream.format("rate-micro-batch").options(**options).load()
        timed = stream.withColumnRenamed("timestamp", f"t{number}").withWatermark(
            f"t{number}", "10 seconds"
        )
        return timed.select(F.col(f"t{number}").alias("t"), "value")

    return reduce(DataFrame.union, [one(number) for number in range(inputs)])


def triggers(spark: SparkSession, rounds: int, inputs: tuple[int, ...]) -> None:
    """Prints ms per batch, of the whole trigger and of planning alone, by both engines."""
    for what in ("triggerExecution", "queryPlanning"):
        print(head(f"{what} of a batch"))
        for count in inputs:

            def measure(engine: str, number: int = count, figure: str = what) -> float:
                done = progress(spark, engine, _query(spark, number), BATCHES)
                return statistics.median(p["durationMs"][figure] for p in done)

            print(
                line(f"{count} inputs with a watermark", "ms", *interleaved(rounds, measure)),
                flush=True,
            )
