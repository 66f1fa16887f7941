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


def progress(
    spark: SparkSession, engine: str, query: DataFrame, batches: int
) -> list[dict[str, Any]]:
    """Progress of `batches` batches of `query`, without the first two (code is compiled there)."""
    spark.conf.set("spark.tidemark.enabled", ENGINES[engine])
    checkpoint = tempfile.mkdtemp(prefix="tidemark-bench-")
    try:
        running = query.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        try:
            while (running.lastProgress or {"batchId": -1})["batchId"] < batches + 1:
                if running.exception() is not None:
                    raise RuntimeError(str(running.exception()))
                time.sleep(0.05)
        finally:
            running.stop()
        return [dict(p) for p in running.recentProgress if 2 <= p["batchId"] <= batches + 1]
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)


def interleaved(rounds: int, measure: Callable[[str], float]) -> tuple[float, float, list[float]]:
    """Both engines in turn, the order changing: the median of each, and the ratio of each pair."""
    figures: dict[str, list[float]] = {"stock": [], "tidemark": []}
    for engine in figures:
        measure(engine)
    for number in range(rounds):
        for engine in list(figures)[:: 1 if number % 2 == 0 else -1]:
            figures[engine].append(measure(engine))
    ratios = [
        ours / theirs for ours, theirs in zip(figures["tidemark"], figures["stock"], strict=True)
    ]
    return statistics.median(figures["stock"]), statistics.median(figures["tidemark"]), ratios


def line(label: str, unit: str, stock: float, ours: float, ratios: list[float]) -> str:
    middle = statistics.median(ratios)
    return f"{label:34} {stock:9.1f} {ours:9.1f} {unit:7} {middle:6.2f}x  ({min(ratios):.2f} to {max(ratios):.2f})"


def head(title: str) -> str:
    return f"\n{title}\n{'':34} {'stock':>9} {'tidemark':>9} {'':7} {'ratio':>7}  (range)"
