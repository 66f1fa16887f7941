"""A query that keeps what it gives out, with the number of the batch that gave it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

Keep = Callable[[int, list[tuple[Any, ...]]], None]
"""Is told a batch's number and its rows, after every batch that ran."""


def start(result: DataFrame, checkpoint: Path, keep: Keep) -> StreamingQuery:
    """Starts the query from the beginning, in append mode; what was in the folder is deleted."""

    def each(batch: DataFrame, number: int) -> None:
        keep(number, [tuple(row) for row in batch.collect()])

    shutil.rmtree(checkpoint, ignore_errors=True)
    return (
        result.writeStream.foreachBatch(each)
        .option("checkpointLocation", str(checkpoint))
        .outputMode("append")
        .start()
    )


def read_all(query: StreamingQuery) -> None:
    """Returns when all waiting rows are read, and no batch without rows is due.

    Spark's own ``processAllAvailable``, called in another thread. A thread that is in a call of
    Spark's cannot make a second one, such as to stop the query when the program is told to end.
    """
    done: Future[None] = Future()

    def process() -> None:
        try:
            done.set_result(query.processAllAvailable())
        except Exception as error:  # noqa: BLE001  raised where it is waited for
            done.set_exception(error)

    Thread(target=process, daemon=True).start()
    done.result()
