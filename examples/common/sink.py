"""Starts a query that keeps what it gives out, with the number of the batch that gave it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

Keep = Callable[[int, list[tuple[Any, ...]]], None]
"""Is told a batch's number and its rows, after every batch that ran."""


def start(result: DataFrame, checkpoint: Path, keep: Keep) -> StreamingQuery:
    """Starts the query anew, in append mode; what was in the folder is deleted."""

    def each(batch: DataFrame, number: int) -> None:
        keep(number, [tuple(row) for row in batch.collect()])

    shutil.rmtree(checkpoint, ignore_errors=True)
    return (
        result.writeStream.foreachBatch(each)
        .option("checkpointLocation", str(checkpoint))
        .outputMode("append")
        .start()
    )
