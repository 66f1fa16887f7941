"""`log`: what a query's checkpoint says of its watermarks, batch by batch, without the query."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._session import require_extension

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def log(checkpoint: str | os.PathLike[str], *, spark: SparkSession | None = None) -> DataFrame:
    """The watermark log of a query as a DataFrame, whether the query is running or not.

    The answer to "why did last night's job write nothing": which input had come how far with each
    batch, and which of its splits held it. The query is not started, and nothing is written. As
    many batches are there as Spark keeps (`spark.sql.streaming.minBatchesToRetain`, 100). In SQL:
    `SELECT * FROM tidemark_log('checkpoint')`. Works on classic and Spark Connect alike.

    Args:
        checkpoint: The `checkpointLocation` of the query, as Spark (on Connect: the server) finds it.
        spark: The session to read with; the active one when left out.

    Returns:
        A row for each batch, input and split: `batch` (LONG), `time` (TIMESTAMP, when the batch
        was begun), `key` (the watermark's), `split` (null where the input is not split), `clock`
        (TIMESTAMP, how far the split has come, null before its first row), `watermark` (TIMESTAMP,
        the input's when the batch had ended), `idle` (the split, or an input of which nothing is
        known), and `held_by`, the split that the watermark waits for.

    Raises:
        TidemarkError: `NO_LOG` for what is no location; when the extension is not active in the
            session, as for `with_watermark`.
        IllegalArgumentException: By Spark, with the code `NO_LOG` in it (`error_code` reads it)
            where there is no log. Where one cannot be read, the job that reads it fails with the
            code `CHECKPOINT_ENTRY_DAMAGED`.

    Example:
        >>> rows = tidemark.log("/checkpoints/orders")  # doctest: +SKIP
        >>> rows.where("batch = 41").orderBy("clock").show()  # doctest: +SKIP
    """
    from pyspark.sql import SparkSession

    session = spark if spark is not None else SparkSession.active()
    require_extension(session)
    return _bridge.log_table(session, _location(checkpoint))


def _location(checkpoint: object) -> str:
    path = os.fspath(checkpoint) if isinstance(checkpoint, os.PathLike) else checkpoint
    if isinstance(path, str) and path.strip():
        return path
    raise TidemarkError(
        "NO_LOG",
        f"There is no watermark log in {checkpoint!r}, which is not a location",
        "passing the checkpoint location of a query that has completed a batch with Tidemark",
    )
