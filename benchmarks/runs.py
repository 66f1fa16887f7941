"""Runs a streaming query for some batches, by one engine or the other, and compares what its progress says."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

ENGINES = {"stock": "false", "tidemark": "true"}

Compared = tuple[float, float, list[float]]
"""A figure by both engines: the median of stock, that of Tidemark, and the ratio of each pair of runs."""


WARM_UP = 2
"""Batches of a query that do not count: code is compiled there."""


def progress(
    spark: SparkSession, engine: str, build: Callable[[], DataFrame], batches: int
) -> list[dict[str, Any]]:
    """Progress of `batches` batches of a query, without those that warm it up.

    The query is built with the engine chosen already: a second watermark is resolved by it.
    """
    spark.conf.set("spark.tidemark.enabled", ENGINES[engine])
    query = build()
    checkpoint = tempfile.mkdtemp(prefix="tidemark-bench-")
    try:
        running = query.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        try:
            while (running.lastProgress or {"batchId": -1})["batchId"] < batches + WARM_UP - 1:
                if running.exception() is not None:
                    raise RuntimeError(str(running.exception()))
                time.sleep(0.05)
        finally:
            running.stop()
        return [dict(p) for p in running.recentProgress if p["batchId"] >= WARM_UP][:batches]
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)


def task_cpu(
    spark: SparkSession, engine: str, build: Callable[[], DataFrame], batches: int
) -> float:
    """CPU time (ns) of the tasks of a batch: the median of `batches` of a query with one stage, after its warm-up.

    Of the threads that run tasks alone, so that neither planning nor what else the machine does counts.
    """
    before = len(_stages(spark))
    progress(spark, engine, build, batches)
    return statistics.median(_stages(spark)[before + WARM_UP :][:batches])


def _stages(spark: SparkSession) -> list[float]:
    context: Any = spark.sparkContext
    complete = context._jvm.java.util.ArrayList()
    complete.add(getattr(context._jvm, "org.apache.spark.status.api.v1.StageStatus").COMPLETE)
    none = context._jvm.java.util.ArrayList()
    quantiles = context._gateway.new_array(context._gateway.jvm.double, 0)
    found = context._jsc.sc().statusStore().stageList(complete, False, False, quantiles, none)
    stages = [found.apply(at) for at in range(found.size())]
    return [float(s.executorCpuTime()) for s in sorted(stages, key=lambda s: s.stageId())]


def interleaved(rounds: int, measure: Callable[[str], dict[str, float]]) -> dict[str, Compared]:
    """Both engines in turn, the order changing; `measure` gives a run's figures, each by its name."""
    runs: dict[str, list[dict[str, float]]] = {engine: [] for engine in ENGINES}
    for engine in runs:
        measure(engine)
    for number in range(rounds):
        for engine in list(runs)[:: 1 if number % 2 == 0 else -1]:
            runs[engine].append(measure(engine))
    return {
        figure: _compared(*([run[figure] for run in runs[engine]] for engine in ENGINES))
        for figure in runs["stock"][0]
    }


def _compared(stock: list[float], ours: list[float]) -> Compared:
    ratios = [our / their for our, their in zip(ours, stock, strict=True)]
    return statistics.median(stock), statistics.median(ours), ratios


def line(label: str, unit: str, compared: Compared) -> str:
    stock, ours, ratios = compared
    middle = statistics.median(ratios)
    return f"{label:42} {stock:9.1f} {ours:9.1f} {unit:7} {middle:6.2f}x  ({min(ratios):.2f} to {max(ratios):.2f})"


def head(title: str) -> str:
    return f"\n{title}\n{'':42} {'stock':>9} {'tidemark':>9} {'':7} {'ratio':>7}  (range)"
