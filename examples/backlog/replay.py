"""Runs the query over the whole backlog, and keeps what comes out of each batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from common.progress import figures
from common.sink import read_all, start
from common.state import counts_left

from .told import Given, Split, Told


def replay(
    spark: SparkSession, counts: DataFrame, checkpoint: Path, stepped: Callable[[], None]
) -> Told:
    """What comes of it, once all that waits has been read.

    Args:
        spark: the session of the query.
        counts: the query: hour, part, rows.
        checkpoint: a folder for the query's own.
        stepped: called after every batch, for a progress bar.
    """
    outcome = Told()

    def keep(batch: int, rows: list[tuple[Any, ...]]) -> None:
        outcome.given += [Given(batch, *row) for row in rows]
        stepped()

    query = start(counts, checkpoint, keep)
    try:
        read_all(query)
        outcome.batches, outcome.peak_state, outcome.said_late = figures(query)
    finally:
        query.stop()
    left: Counter[Split] = Counter()
    for _, split, count in counts_left(spark, checkpoint):
        left[split] += count
    outcome.left = sorted(left.items(), key=str)
    return outcome
