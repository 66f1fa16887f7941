"""`read_between`: the rows between two cuts, or between two event times, as a batch DataFrame."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from tidemark._errors import TidemarkError, invalid_option
from tidemark._mark_logs.kafka import subscribed
from tidemark._mark_logs.readers import read
from tidemark._mark_logs.source import Source
from tidemark._watermark import columns
from tidemark_marks import Cut, Marks
from tidemark_marks.shared import MOST, Range, Time, between, micros, range_between

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

_log = logging.getLogger("tidemark")

Options: TypeAlias = Mapping[str, str | bool | int | float]


@overload
def read_between(
    spark: SparkSession,
    start: Cut | None,
    end: Cut,
    *,
    format: str,
    by: Literal["position"] = "position",
    path: str | os.PathLike[str] | None = None,
    options: Options | None = None,
    schema: StructType | str | None = None,
) -> DataFrame: ...


@overload
def read_between(
    spark: SparkSession,
    start: Time | None,
    end: Time,
    *,
    format: str,
    by: Literal["event_time"],
    marks: Marks,
    time: str | Column,
    path: str | os.PathLike[str] | None = None,
    options: Options | None = None,
    schema: StructType | str | None = None,
) -> DataFrame: ...


def read_between(
    spark: SparkSession,
    start: Cut | Time | None,
    end: Cut | Time,
    *,
    format: str,
    by: Literal["position", "event_time"] = "position",
    marks: Marks | None = None,
    time: str | Column | None = None,
    path: str | os.PathLike[str] | None = None,
    options: Options | None = None,
    schema: StructType | str | None = None,
) -> DataFrame:
    """The rows between two cuts of a stream, or between two event times, as a batch DataFrame.

    The stream's writers note their times in a mark log. What retention has taken is an error,
    never a smaller result. Works on classic and Spark Connect alike, with or without Tidemark's
    extension.

    - `by="position"`: the rows behind the cut `start`, up to the cut `end`. Adjacent ranges divide
      the stream: each row is in exactly one of them, and reading a range again gives the same rows.
      So `end` of one range must be `start` of the next: keep its `text`.
    - `by="event_time"`: the rows with `start < time <= end`. They may be anywhere before the cut at
      `end`, so the read begins where all writers have noted a `max_time` below `start`. If one has
      not, it begins at the beginning of the stream, and a warning in Python's log says so.

    The formats are `"kafka"`, `"delta"` (a table with a change data feed, of which the inserted
    rows are read), and those of Spark's file source, such as `"parquet"` or `"json"`.

    Args:
        spark: The session to read with.
        start: A `Cut`, or a time for `by="event_time"`; None for the beginning.
        end: A `Cut`, or a time for `by="event_time"`.
        format: The format of the source, as for `spark.read.format`.
        by: `"position"` or `"event_time"`.
        marks: The stream's mark log, for `by="event_time"`.
        time: The event-time column, for `by="event_time"`: its name, or an expression of the
            source's columns such as `F.from_json("value", ...)["order_time"]`.
        path: The folder of files that names in marks are relative to, or of a Delta table.
        options: The reader's options. Kafka needs `subscribe`.
        schema: The schema of files, as for `spark.read.schema`.

    Returns:
        The rows with the source's columns. Kafka's rows are read when the DataFrame is used. If
        retention has deleted some of them before, Spark raises its own error.

    Raises:
        TidemarkError: `CUT_EXPIRED` if rows of the range no longer exist; `NO_CUT` if a writer
            has not noted `end`; `CUT_NOT_READABLE`; `MARK_POSITION_MISMATCH` if the cut is not of
            the source; `MARK_LOG_NOT_READ`; `INVALID_OPTION`; `UNKNOWN_COLUMN`, `NESTED_COLUMN` and
            `COLUMN_NOT_TIMESTAMP` for `time`.

    Example:
        >>> rows = tidemark.read_between(  # doctest: +SKIP
        ...     spark,
        ...     Cut.from_text(stored),
        ...     marks.cut_at("2026-11-23T13:00:00Z"),
        ...     format="kafka",
        ...     options={"kafka.bootstrap.servers": servers, "subscribe": "orders"},
        ... )
    """
    source = Source(spark, format, path, options or {}, schema)
    topics = subscribed(options or {}) if format.lower() == "kafka" else ()
    if by == "position":
        return read(source, _between_cuts(start, end, topics))
    if by != "event_time":
        raise invalid_option("by", by, '"position" or "event_time"')
    if not isinstance(marks, Marks):
        raise invalid_option(
            "marks",
            marks,
            'the stream\'s Marks where by is "event_time"',
            "giving marks=Marks(...)",
        )
    if time is None:
        raise invalid_option(
            "time",
            time,
            'the event-time column where by is "event_time"',
            "giving time=, a column's name",
        )
    first = None if start is None else micros(start, "start")
    last = micros(end, "end")
    if first is not None and last < first:
        raise invalid_option("end", end, "start or later")
    found, unknown = range_between(marks, first, last, topics)
    if first is not None and unknown:
        _log.warning(
            "read_between reads from the beginning of the stream, because no mark of %s has a max_time below start",
            ", ".join(f"writer '{writer}'" for writer in unknown[:10]),
        )
    return _within(read(source, found), time, first, last)


def _between_cuts(start: object, end: object, topics: tuple[str, ...]) -> Range:
    for option, cut in (("start", start), ("end", end)):
        if not isinstance(cut, Cut) and not (cut is None and option == "start"):
            # A time would be looked up again for the next range, and might then have another cut.
            raise invalid_option(
                option,
                cut,
                'a Cut where by is "position"',
                "giving marks.cut_at(time), and by keeping its text as the start of the next range",
            )
    assert isinstance(end, Cut)
    return between(start if isinstance(start, Cut) else None, end, topics)


def _within(
    rows: DataFrame, time: str | Column, start_micros: int | None, end_micros: int
) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    if isinstance(time, str):
        named = columns.find_column(rows, time)
        column, field = F.col(named.reference), named.field
    else:
        column, field = time, rows.select(time).schema.fields[0]
    columns.require_timestamp(field)
    if field is not None and isinstance(field.dataType, StructType):
        raise TidemarkError(
            "COLUMN_NOT_TIMESTAMP",
            f"Column {field.name!r} is a window, but read_between compares single times",
            f"giving the time of a row, or F.window_time({field.name!r})",
            column=field.name,
            dataType=field.dataType.simpleString(),
        )
    found = rows.where(column <= F.timestamp_micros(F.lit(_of_64_bits(end_micros))))
    if start_micros is not None:
        found = found.where(column > F.timestamp_micros(F.lit(_of_64_bits(start_micros))))
    return found


def _of_64_bits(value: int) -> int:
    return max(-MOST - 1, min(value, MOST))
