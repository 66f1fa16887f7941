"""`in_order`: the rows of a stream by their event time, and not as they happen to arrive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

from tidemark._bridge import forbids_analysis
from tidemark._errors import TidemarkError, invalid_option
from tidemark._session.active import require_extension
from tidemark._watermark.columns import (
    find_column,
    find_expressions,
    is_taken,
    name_of,
    require_own,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_IN_ORDER: Final = "tidemark_in_order"


def in_order(
    df: DataFrame,
    time: str | Column | Sequence[str | Column],
    *,
    by: str | Column | Sequence[str | Column] | None = None,
    then: str | Column | Sequence[str | Column] | None = None,
    late: Literal["drop", "pass"] = "drop",
    wait: bool = True,
) -> DataFrame:
    """Puts the rows of a stream in the order of their event time.

    Spark promises no order to code with state. Here a row is held until the watermark of `time` has
    passed it. Each batch then emits the rows up to its watermark, those of equal `by` together and
    sorted by `time`, and every row of a later batch is later. So the order goes on over batches,
    for any grouping above. Rows are emitted exactly once, also after a restart or a crash. The
    price is latency and state: a row waits as long as the watermark is behind it.

    With `wait=False`, each batch is sorted by itself. No row is held or late, and no watermark is
    needed. A batch DataFrame is sorted as a whole.

    Args:
        df: The DataFrame. Its columns, their types and the watermarks of all columns stay.
        time: An event-time column with a watermark, or a window of it, which counts by its end.
            With `wait=False` it may be any column that can be ordered, or several of them, such as
            `["partition", "offset"]`.
        by: What tells the groups apart: names, expressions, or a list of these. Left out, all rows
            are one group and lie in one partition.
        then: What decides between rows of the same time, ascending. Without it, such rows come in
            any order.
        late: `"drop"` drops rows that are late when they arrive, and counts them. `"pass"` emits
            them immediately, before the other rows of their group.
        wait: Whether rows are held until the watermark has passed them.

    Returns:
        The same rows, in order. A null time is never late and is not held.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`, `NESTED_COLUMN`, `INVALID_OPTION`; for a session without
            the extension as for `with_watermark`.
        AnalysisException: From Spark, with the code `ORDER_NOT_EVENT_TIME` or `INVALID_ORDER` in it
            (`error_code` reads it). When the query runs: `ORDER_OF_UPDATES`, `LEFT_TO_SPARK`,
            `ORDER_STATE_CHANGED`.

    Example:
        >>> ordered = tidemark.in_order(readings, "time", by="device")  # doctest: +SKIP
        >>> ordered.groupBy("device").applyInPandasWithState(...)  # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    require_extension(df.sparkSession)
    if not isinstance(wait, bool):
        raise invalid_option("wait", wait, "True or False")
    if late not in ("drop", "pass"):
        raise invalid_option("late", late, "'drop' or 'pass'")
    first, *others = _several("time", time)
    if wait and others:
        raise TidemarkError(
            "INVALID_OPTION",
            f"Rows are to wait for the watermarks of {1 + len(others)} columns",
            "naming one event-time column, and the others as then=, or by wait=False",
            option="time",
            value=time,
        )
    groups = find_expressions(df, _several("by", by))
    ties = find_expressions(df, [*others, *_several("then", then)])
    column = _event_time(df, first) if wait else find_expressions(df, [first])[0]
    options = json.dumps({"then": len(ties), "wait": wait, "late": late})
    ordered = df.filter(F.call_function(_IN_ORDER, column, F.lit(options), *groups, *ties))
    if forbids_analysis(df.sparkSession):
        return ordered
    # On Connect a filter answers with the columns of its input, and a selection asks the server.
    if len(ordered.select("*").columns) != len(df.columns):
        # Spark has added it as a column, and has left out rows that are in no window.
        raise invalid_option(
            "by",
            by,
            "columns and expressions, but not a window that is computed there",
            "adding the window as a column first",
        )
    return ordered


def _event_time(df: DataFrame, time: str | Column) -> Column:
    from pyspark.sql import Column
    from pyspark.sql import functions as F

    name = name_of(time)
    if isinstance(time, Column) and is_taken(time):
        # Spark finds it by its identity, also if another column of the DataFrame has this name.
        require_own(df, time, name)
        return time
    return F.col(find_column(df, name).reference)


def _several(
    option: str, given: str | Column | Sequence[str | Column] | None
) -> list[str | Column]:
    from pyspark.sql import Column

    if given is None and option != "time":
        return []
    several = given if isinstance(given, (list, tuple)) else (given,)
    names = [column for column in several if isinstance(column, (str, Column))]
    if not names or len(names) < len(several):
        raise invalid_option(option, given, "a column's name, a Column, or a list of these")
    return names
