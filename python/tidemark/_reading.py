"""`current_watermark` and `is_late`: the watermark at a place of a streaming query, as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


def current_watermark(column: str | Column | None = None, *, key: str | None = None) -> Column:
    """The watermark by which rows that come to this place of a query are late in this batch.

    That is the watermark of the batch before, which is what Spark's operators drop late rows by:
    what a batch has seen counts from the batch after the next one on (a query with state runs a
    batch without data in between, one without state does not). In SQL: `current_watermark(time)`,
    `current_watermark('key')`, `current_watermark()`. Works on classic and Spark Connect alike.

    Args:
        column: An event-time column, or a window, that the row has at this place. Left out: the
            only one that there is.
        key: The name of a watermark (`with_watermark(..., key=...)`, or its column's name), whose
            input may be anywhere in the query; instead of a column.

    Returns:
        A `TIMESTAMP` column. Null where there is no watermark yet, and in batch queries, to which
        a DataFrame inside `foreachBatch` belongs.

    Raises:
        TypeError: Where both a column and a key are given.
        IllegalArgumentException: By Spark, with the code `NO_WATERMARK` in it (`error_code` reads it):
            the column has none there. Some mistakes come out only when the query begins.

    Example:
        >>> behind = F.col("time") < current_watermark("time")  # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    if key is not None:
        if column is not None:
            raise TypeError("current_watermark takes a column or a key, and not both")
        return F.call_function("current_watermark", F.lit(key))
    if column is None:
        return F.call_function("current_watermark")
    return F.call_function("current_watermark", column)


def is_late(column: str | Column) -> Column:
    """Whether a row is late at this place of a query: at or before `current_watermark(column)`.

    A stateful operator that comes next, and goes by that column, drops exactly these rows. Keep
    them by sending them elsewhere first, or count them with `observe`. In SQL: `is_late(time)`.

    Ask for the column that the operator goes by. Any other finds rows that are not dropped:

    - windows, sessions: the window itself, selected before it is grouped by. A row may be behind
      the watermark by its time while its window is open.
    - an aggregation by the time alone: that time.
    - a join: on each side the time in its condition.
    - deduplication: the event-time column among its keys, else the one declared last.
    - functions with state: the event-time column, of several the one declared last.

    Args:
        column: An event-time column, or a window (by its end), that the row has at this place.

    Returns:
        A `BOOLEAN` column, never null: false where the time is null, and in batch queries.

    Raises:
        IllegalArgumentException: By Spark, with the code `NO_WATERMARK` in it; see `current_watermark`.

    Example:
        >>> hourly = readings.select("*", F.window("time", "1 hour").alias("window"))  # doctest: +SKIP
        >>> late = hourly.where(tidemark.is_late("window"))  # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    return F.call_function("is_late", column)
