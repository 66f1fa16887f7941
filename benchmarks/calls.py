"""Calls that wait: `map_async` beside what stock Spark has, for calls that all take 5 ms and with some slow ones."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from call_costs import call_costs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from runs import repeated

import tidemark
from common.settings import with_settings

IN_FLIGHT = 64
CONCURRENCY = "spark.sql.execution.pythonUDF.arrow.concurrency.level"

STEADY, TAIL = "5 ms", "5 ms, and 1 s at p99.9"
SLOW_EVERY = {STEADY: 2**40, TAIL: 1000}
WAITING = f"a UDF that waits: {STEADY}"
OURS = "map_async"
# Not a constant, which Spark would compute once.
_NULL = "IF(id < 0, id, NULL) AS n"


def calls(spark: SparkSession, rounds: int, rows: int) -> None:
    """Prints the calls a second of each way, and ours as a multiple of each other's.

    Args:
        spark: The session. One task makes all calls.
        rounds: Runs of each way, after one that does not count.
        rows: Of a run with many calls in flight. The UDF that waits has a hundredth of them.
    """
    several = {
        OURS: _async,
        f"{IN_FLIGHT} threads of Spark's Arrow UDF": _threads,
        "asyncio.gather in mapInPandas": _gather,
    }
    ways: dict[str, Callable[[], float]] = {WAITING: lambda: _waiting(spark, rows // 100)}
    for calling, every in SLOW_EVERY.items():
        for name, way in several.items():
            ways[f"{name}: {calling}"] = lambda way=way, every=every: way(spark, rows, every)  # type: ignore[misc]
    load = os.getloadavg()[0]
    found = repeated(rounds, lambda way: {"calls": ways[way]()}, list(ways))
    rates = {way: [run["calls"] for run in runs] for way, runs in found.items()}
    print(f"\nCalls a second of one task, {IN_FLIGHT} in flight (load of the machine: {load:.1f})")
    for way, of in rates.items():
        print(f"{way:58} {statistics.median(of):9.0f}  ({min(of):.0f} to {max(of):.0f})")
    for way, of in rates.items():
        ours = f"{OURS}: {way.split(': ')[1]}"
        if way != ours:
            _print_ratio(f"{OURS} / {way}", rates[ours], of)
    # What it costs that rows keep their order: a slow call may hold back rows behind it.
    for name in several:
        slow, steady = rates[f"{name}: {TAIL}"], rates[f"{name}: {STEADY}"]
        _print_ratio(f"{name}, with slow calls / without", slow, steady)
    call_costs(rounds, rows // 5, IN_FLIGHT)
    _rows_without_a_call(spark, rounds, 20 * rows)


def _print_ratio(name: str, of: list[float], to: list[float]) -> None:
    ratios = [a / b for a, b in zip(of, to, strict=True)]
    spread = f"({min(ratios):.2f} to {max(ratios):.2f})"
    print(f"{name}: {statistics.median(ratios):.2f}x {spread}")


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


def _gather(spark: SparkSession, rows: int, slow_every: int) -> float:
    in_flight = IN_FLIGHT

    def call_all(frames: Iterator[Any]) -> Iterator[Any]:
        import asyncio
        import zlib

        async def called(values: list[int]) -> list[int]:
            slots = asyncio.Semaphore(in_flight)

            async def call(n: int) -> int:
                async with slots:
                    await asyncio.sleep(1 if zlib.crc32(b"%d" % n) % slow_every == 0 else 0.005)
                return n

            return await asyncio.gather(*map(call, values))

        for frame in frames:
            yield frame.assign(call=asyncio.run(called(frame["id"].tolist())))

    return _rate(spark, rows, lambda df: df.mapInPandas(call_all, "id LONG, call LONG"))


def _rate(spark: SparkSession, rows: int, called: Callable[[DataFrame], DataFrame]) -> float:
    df = called(spark.range(0, rows, 1, 1))
    begun = time.monotonic()
    df.write.format("noop").mode("overwrite").save()
    return rows / (time.monotonic() - begun)
