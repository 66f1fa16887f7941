"""Brings the inputs one by one, and writes down what each costs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from common.sink import read_all, start
from common.tasks import cpu_millis

from .outcome import Outcome


def replay(
    counts: DataFrame,
    inputs: Sequence[Path],
    shown: Path,
    checkpoint: Path,
    stepped: Callable[[], None],
) -> Outcome:
    """What comes of it.

    Args:
        counts: the query, which reads the folder `shown`.
        inputs: the files, in the order in which they arrive.
        shown: where Spark sees them.
        checkpoint: a folder for the query's own.
        stepped: called after every input, for a progress bar.
    """
    outcome = Outcome()

    def keep(_batch: int, rows: list[tuple[Any, ...]]) -> None:
        outcome.rows += [(row[0], row[1], row[2], row[3]) for row in rows]

    query = start(counts, checkpoint, keep)
    last = -1
    try:
        for file in inputs:
            begun = cpu_millis(counts.sparkSession)
            shutil.copy(file, shown / f".{file.name}")
            (shown / f".{file.name}").rename(shown / file.name)
            read_all(query)
            done = [
                p
                for p in query.recentProgress
                if p["batchId"] > last and "addBatch" in p["durationMs"]
            ]
            last = max((p["batchId"] for p in done), default=last)
            outcome.millis.append(float(sum(p["durationMs"]["triggerExecution"] for p in done)))
            outcome.cpu_millis.append(cpu_millis(counts.sparkSession) - begun)
            outcome.state.append(done[-1]["stateOperators"][0]["numRowsTotal"])
            outcome.batches.append(len(done))
            stepped()
    finally:
        query.stop()
    return outcome
