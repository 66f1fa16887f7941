"""`current_watermark`, `is_late` and `time_window`: watermarks in a streaming query, as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


def current_watermark(column: str | Column | None = None, *, key: str | None = None) -> Column:
    """The watermark at this place in a query, by which rows are late in this batch.

    That is the watermark of the previous batch, by which Spark's operators drop late rows. Rows of
    a batch therefore count from the batch after the next one on. (A stateful query runs a no-data
    batch in between, a stateless one does not.) In SQL: `current_watermark(time)`,
    `current_watermark('key')`, `current_watermark()`. Works on classic and Spark Connect alike.

    Args:
        column: An event-time column, or a window, that the row has at this place. By default it is
            the only column with a watermark.
        key: The name of a watermark, instead of a column: `with_watermark(..., key=...)`, or its
            column's name. Its input may be anywhere in the query.

    Returns:
        A `TIMESTAMP` column. It is null if there is no watermark yet, and in batch queries. A
        DataFrame inside `foreachBatch` is a batch query.

    Raises:
        TypeError: If both a column and a key are given.
        IllegalArgumentException: From Spark, with the code `NO_WATERMARK` in it (`error_code` reads
            it), if the column has no watermark there. Some mistakes show only when the query starts.

    Example:
        >>> behind = F.col("time") < current_watermark("time")  # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    if key is not None:
        if column is not None:
            raise TypeError("current_watermark takes a column or a key, not both")
        return F.call_function("current_watermark", F.lit(key))
    if column is None:
        return F.call_function("current_watermark")
    return F.call_function("current_watermark", column)


def is_late(column: str | Column) -> Column:
    """Whether a row is late at this place of a query: at or before `current_watermark(column)`.

    If the next stateful operator uses that column, it drops exactly these rows. To keep them, send
    them elsewhere first, or count them with `observe`. In SQL: `is_late(time)`.

    Ask for the column that the operator uses. Any other column finds rows that are not dropped:

    - windows, sessions: the window itself, selected before the grouping. A row's time may be behind
      the watermark while its window is open.
    - an aggregation by the time alone: that time.
    - a join: on each side the time in its condition.
    - deduplication: the event-time column among its keys, else the one declared last.
    - functions with state: the event-time column; if there are several, the one declared last.

    Args:
        column: An event-time column, or a window (by its end), that the row has at this place.

    Returns:
        A `BOOLEAN` column, never null: false where the time is null, and in batch queries.

    Raises:
        IllegalArgumentException: From Spark, with the code `NO_WATERMARK` in it, as for
            `current_watermark`.

    Example:
        >>> hourly = readings.select("*", F.window("time", "1 hour").alias("window"))  # doctest: +SKIP
        >>> late = hourly.where(tidemark.is_late("window"))  # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    return F.call_function("is_late", column)


def time_window(column: str | Column | None = None, *, key: str | None = None) -> Column:
    """Between which times the rows of a batch are, as the writers of an input have noted it.

    `lower` is the watermark of the batch at this place: rows of the batch are later if their
    writers kept their word. `upper` is the next time that all writers have noted ahead. Both are
    known when the batch begins, and are the same if it runs again. In SQL:
    `tidemark_time_window(time)`, `tidemark_time_window('key')`.

    Args:
        column: An event-time column that the row has at this place.
        key: The name of a watermark, instead of a column: `with_watermark(..., key=...)`, or its
            column's name.

    Returns:
        A column `STRUCT<lower: TIMESTAMP, upper: TIMESTAMP>`, which is never null. `lower` is null
        if there is no watermark yet. `upper` is null near the end of what is noted, and for an
        input that does not use marks. It is also null for rows that a stateful operator or a
        union has emitted. Both are null in batch queries.

    Raises:
        TypeError: If not exactly one of column and key is given.
        IllegalArgumentException: From Spark, with the code `NO_WATERMARK` in it, as for
            `current_watermark`.

    Example:
        >>> rows = orders.select("*", tidemark.time_window("order_time"))  # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    if key is not None and column is None:
        return F.call_function("tidemark_time_window", F.lit(key))
    if key is not None or column is None:
        raise TypeError("time_window takes either a column or a key")
    return F.call_function("tidemark_time_window", column)
