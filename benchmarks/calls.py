"""Calls that wait: `map_async` beside a UDF that waits for each row, and beside Spark's own concurrent UDFs."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from runs import repeated

import tidemark
from common.settings import with_settings

IN_FLIGHT = 64
CONCURRENCY = "spark.sql.execution.pythonUDF.arrow.concurrency.level"

STEADY, TAIL = "5 ms", "5 ms, and 1 s at p99.9"
WAITING = f"a UDF that waits: {STEADY}"
THREADS = f"{IN_FLIGHT} threads of Spark: {TAIL}"
ASYNC_STEADY = f"map_async: {STEADY}"
ASYNC_TAIL = f"map_async: {TAIL}"
# Not a constant, which Spark would compute once.
_NULL = "IF(id < 0, id, NULL) AS n"


def calls(spark: SparkSession, rounds: int, rows: int) -> None:
    """Prints the calls a second of each way, and ours as a multiple of the other's.

    Args:
        spark: The session. One task makes all calls.
        rounds: Runs of each way, after one that does not count.
        rows: Of a run with many calls in flight. The UDF that waits has a hundredth of them.
    """
    ways: dict[str, Callable[[], float]] = {
        WAITING: lambda: _waiting(spark, rows // 100),
        ASYNC_STEADY: lambda: _async(spark, rows, slow_every=2**40),
        THREADS: lambda: _threads(spark, rows, slow_every=1000),
        ASYNC_TAIL: lambda: _async(spark, rows, slow_every=1000),
    }
    load = os.getloadavg()[0]
    found = repeated(rounds, lambda way: {"calls": ways[way]()}, list(ways))
    rates = {way: [run["calls"] for run in runs] for way, runs in found.items()}
    print(f"\nCalls a second of one task, {IN_FLIGHT} in flight (load of the machine: {load:.1f})")
    for way, of in rates.items():
        print(f"{way:42} {statistics.median(of):9.0f}  ({min(of):.0f} to {max(of):.0f})")
    for ours, other in [(ASYNC_STEADY, WAITING), (ASYNC_TAIL, THREADS)]:
        ratios = [a / b for a, b in zip(rates[ours], rates[other], strict=True)]
        spread = f"({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"{ours} / {other}: {statistics.median(ratios):.2f}x {spread}")
    _rows_without_a_call(spark, rounds, 20 * rows)


def _rows_without_a_call(spark: SparkSession, rounds: int, rows: int) -> None:
    """What rows cost whose inputs are null."""
    ways: dict[str, Callable[[DataFrame], DataFrame]] = {
        "without": lambda df: df.withColumn("call", F.col("n")),
        "with": _skipping,
    }

    def micros(way: str) -> dict[str, float]:
        return {"micros": 1e6 / _rate(spark, rows, lambda df: ways[way](df.selectExpr(_NULL)))}

    found = repeated(rounds, micros, list(ways))
    more = [
        calling["micros"] - other["micros"]
        for calling, other in zip(found["with"], found["without"], strict=True)
    ]
    spread = f"({min(more):.2f} to {max(more):.2f})"
    print(f"A row without a call: {statistics.median(more):.2f} us more than without {spread}")


# The functions below are inside others, because Spark's workers do not have this module.


def _async(spark: SparkSession, rows: int, slow_every: int) -> float:
    async def call(n: int) -> int:
        import asyncio
        import zlib

        await asyncio.sleep(1 if zlib.crc32(b"%d" % n) % slow_every == 0 else 0.005)
        return n

    def called(df: DataFrame) -> DataFrame:
        return tidemark.map_async(
            df, "call", call, inputs="id", returns="LONG", concurrency=IN_FLIGHT
        )

    return _rate(spark, rows, called)


def _skipping(df: DataFrame) -> DataFrame:
    async def call(n: int) -> int:
        return n

    return tidemark.map_async(df, "call", call, inputs="n", returns="LONG", on_null="skip")


def _waiting(spark: SparkSession, rows: int) -> float:
    @F.udf("LONG")
    def call(n: int) -> int:
        import time

        time.sleep(0.005)
        return n

    return _rate(spark, rows, lambda df: df.withColumn("call", call("id")))


def _threads(spark: SparkSession, rows: int, slow_every: int) -> float:
    @F.udf("LONG", useArrow=True)
    def call(n: int) -> int:
        import time
        import zlib

        time.sleep(1 if zlib.crc32(b"%d" % n) % slow_every == 0 else 0.005)
        return n

    with with_settings(spark, {CONCURRENCY: str(IN_FLIGHT)}):
        return _rate(spark, rows, lambda df: df.withColumn("call", call("id")))


def _rate(spark: SparkSession, rows: int, called: Callable[[DataFrame], DataFrame]) -> float:
    df = called(spark.range(0, rows, 1, 1))
    begun = time.monotonic()
    df.write.format("noop").mode("overwrite").save()
    return rows / (time.monotonic() - begun)
