"""`note_time`: a streaming query notes how far its output is, for the queries that read it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

from tidemark._errors import TidemarkError, invalid_option
from tidemark._session.active import require_extension
from tidemark._watermark.columns import find_named, is_name_of_several, quoted
from tidemark._watermark.durations import length_text
from tidemark._watermark.noted import location, log_options, texts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from tidemark_marks import Marks

_NOTE_TIME: Final = "tidemark_note_time"


def note_time(
    df: DataFrame,
    column: str | Column,
    to: str | os.PathLike[str] | Marks | Literal[True],
    *,
    to_options: Mapping[str, str] | None = None,
    writer: str | None = None,
    less: str | timedelta | None = None,
    position: str | None = None,
    options: Mapping[str, str] | None = None,
    on_failure: Literal["warn", "fail"] = "warn",
) -> DataFrame:
    """Lets a streaming query note its watermark in a mark log, for the queries that read its output.

    Call it last, before `writeStream`. After each batch the query writes a mark: no later row of
    its output has an event time up to the watermark of `column`. A query that reads the output with
    `with_watermark(..., noted=...)` has no delay to guess, and loses no row. A mark is never ahead
    of the rows in the sink, whatever is killed when. A batch DataFrame notes nothing.

    Args:
        df: The result of the query, in output mode append or update.
        column: The event-time column, or the window, by whose watermark the time is noted. For a
            window the time is its end. It may be dropped after this call.
        to: The location of the mark log, which is a folder or `kafka:<topic>/<stream>`, or a
            `tidemark.marks.Marks`. True: the folder `_tidemark` in the path that is written, or in the
            folder of `position`.
        to_options: For a log in Kafka: options of Spark's Kafka source and sink, such as
            `kafka.bootstrap.servers`. What is left out is as for the sink, and as in `options`. Of a
            `tidemark.marks.Marks`, Spark takes the brokers.
        writer: The query's name among the writers of the log. Left out, its `queryName`,
            and without one its id. A query that starts over with a new checkpoint and the same name
            takes its own place.
        less: How much earlier than the watermark the noted time is, as an interval. It is the
            length of the windows if readers use `window.start`.
        position: Where the rows go, if the sink does not say it: `"kafka:orders,returns"`,
            `"delta:/lake/orders"` or `"files:/lake/orders"`. The last one is a folder: after each
            batch with something to note, it is listed, and the mark has the new files. A position
            is needed for `foreachBatch`, and for a Kafka sink whose topic is in a column.
        options: Options for asking for that position, such as `kafka.bootstrap.servers`.
        on_failure: What happens if a mark cannot be written: `"warn"` continues, and readers wait;
            `"fail"` fails the query.

    Returns:
        The DataFrame; its columns, their types and values are as before.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`, `NESTED_COLUMN`, `INVALID_OPTION`; for a session without
            the extension as for `with_watermark`.
        IllegalArgumentException: From Spark, with a code in it (`error_code` reads it):
            `NOTE_TIME_NOT_EVENT_TIME`, and `INVALID_OPTION` if `less` is not a length of time. When the
            query starts: `NOTE_TIME_DROPPED`, `NOTE_TIME_COMPLETE_MODE`,
            `NOTE_TIME_SINK_UNKNOWN`, `INVALID_NOTE_TIME`, `NO_KAFKA_CONNECTOR`.

    Example:
        >>> out = tidemark.note_time(hourly, "window", to=True)  # doctest: +SKIP
        >>> out.writeStream.format("parquet").start("/lake/hourly")  # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    require_extension(df.sparkSession)
    name = find_named(df, column).name
    if is_name_of_several(df, name):
        raise TidemarkError(
            "UNKNOWN_COLUMN",
            f"Several columns are called {name!r}, so the time of one of them cannot be noted",
            "renaming them apart first",
            column=name,
        )
    fields = {
        "to": location(to, "to"),
        "toOptions": log_options(to, to_options, "to_options") or None,
        "writer": _text("writer", writer),
        "less": None if less is None else length_text("less", less),
        "position": _text("position", position),
        "options": None if options is None else texts(options),
        "failure": _failure(on_failure),
    }
    given = json.dumps({field: value for field, value in fields.items() if value is not None})
    noted = F.call_function(_NOTE_TIME, F.col(quoted(name)), F.lit(given))
    return df.withColumn(name, noted)


def _text(name: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise invalid_option(name, value, "text that is not empty")


def _failure(value: object) -> str:
    if value in ("warn", "fail"):
        return str(value)
    raise invalid_option("on_failure", value, ("warn", "fail"))
