"""`watermark_log`: the watermarks in a query's checkpoint, batch by batch, without the query."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._session.active import session_with_extension
from tidemark_marks.shared import path_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def watermark_log(
    checkpoint: str | os.PathLike[str], *, spark: SparkSession | None = None
) -> DataFrame:
    """The watermark log of a query as a DataFrame, whether the query is running or not.

    It answers "why did last night's job write nothing": the sentence of each batch, the watermark
    of each input after it, and the split that held it. The query is not started, and nothing is
    written. The table has the batches that Spark keeps
    (`spark.sql.streaming.minBatchesToRetain`, 100). In SQL:
    `SELECT * FROM tidemark_log('checkpoint')`. Works on classic and Spark Connect alike.

    Args:
        checkpoint: The query's `checkpointLocation`, as Spark (on Connect: the server) finds it.
        spark: The session to read with. By default it is the active one.

    Returns:
        A row for each batch, input and split, with these columns: `batch` (LONG); `time`
        (TIMESTAMP, when the batch began); `key` (the watermark's); `split` (null if the input has
        no splits); `clock` (TIMESTAMP, the split's clock, null before its first row); `watermark`
        (TIMESTAMP, the input's after the batch); `idle` (whether the split, or the whole input, is
        idle); `held_by_split` (the split that the watermark waits for, null if there is none);
        `corrected` (whether `correct` or `forget` has changed the input after the batch); and `why`
        (STRUCT, why nothing came out of the query when the batch had ended, with the fields of
        `to_dict()["why"]` of a report; null if the entry has none, as after `correct`).

    Raises:
        TidemarkError: `NO_LOG` if `checkpoint` is not a location, or if the extension is not active
            in the session, as for `with_watermark`.
        IllegalArgumentException: From Spark, with the code `NO_LOG` in it (`error_code` reads it),
            if there is no log. If a log cannot be read, the job that reads it fails with the code
            `CHECKPOINT_ENTRY_DAMAGED`.

    Example:
        >>> rows = tidemark.watermark_log("/checkpoints/orders")  # doctest: +SKIP
        >>> rows.where("batch = 41").orderBy("clock").show()  # doctest: +SKIP
    """
    session = session_with_extension(spark)
    return _bridge.log_table(session, checkpoint_path(checkpoint))


def newest_reason(log: DataFrame) -> tuple[int, dict[str, Any]] | tuple[None, None]:
    """The newest batch of a log that says why nothing came out, and what it says."""
    said = log.where("why IS NOT NULL").select("batch", "why")
    newest = said.orderBy("batch", ascending=False).first()
    return (None, None) if newest is None else (newest["batch"], newest["why"].asDict())


def checkpoint_path(checkpoint: object) -> str:
    """Where a checkpoint is, as the engine takes it.

    Raises:
        TidemarkError: `NO_LOG` for what is not a location.
    """
    path = path_text(checkpoint)
    if path is not None:
        return path
    raise TidemarkError(
        "NO_LOG",
        f"There is no watermark log in {checkpoint!r}, which is not a location",
        "passing the checkpoint location of a query that has completed a batch with Tidemark",
        checkpoint=checkpoint,
    )
