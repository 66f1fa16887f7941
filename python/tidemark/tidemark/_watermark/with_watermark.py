"""`with_watermark`: Spark's `withWatermark` with its mistakes caught early, and with splits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from tidemark._bridge import forbids_analysis
from tidemark._errors import TidemarkError, invalid_option
from tidemark._session.active import require_extension
from tidemark._watermark.columns import find_named, is_name_of_several, quoted, require_timestamp
from tidemark._watermark.durations import DurationError, interval_text
from tidemark._watermark.idle import Idle
from tidemark._watermark.noted import NO_DELAY, Noted, as_noted
from tidemark._watermark.options import Options, as_json, read_options
from tidemark._watermark.split_by import SplitBy, as_split_by, split_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

    from tidemark_marks import Marks

_EVENT_TIME = "tidemark_event_time"
_OUR_METADATA = "tidemark."

_DELAY_METADATA = "spark.watermarkDelayMs"
"""Column metadata in which Spark keeps the delay of a watermark."""


def with_watermark(
    df: DataFrame,
    column: str | Column,
    delay: str | timedelta | None = None,
    *,
    key: str | None = None,
    split_by: str | Column | Sequence[str | Column] | SplitBy | None = None,
    idle_after: str | timedelta | None = None,
    idle: Idle | None = None,
    max_ahead: str | timedelta | None = None,
    noted: str | os.PathLike[str] | Marks | Noted | Literal[True] | None = None,
) -> DataFrame:
    """Declares a column as event time, with a watermark of its own.

    It does what `df.withWatermark` does in stock Spark, on classic and Spark Connect DataFrames.
    With the extension on, both give the column its own watermark. This one also checks that the
    extension is active, and can name the watermark. It can say what the parts of the input are (its
    splits), and when one without rows is left out (idle).

    With splits, the watermark is the minimum over their clocks. A split's clock is its largest
    event time less the delay, so a Kafka partition or a device that is behind loses no rows. What
    happens when an idle split has rows again is as in Hazelcast Jet's event-time mapper (`hold`) or
    as in Flink's status watermark valve (`catch_up`).

    Lengths of time are Spark's interval text (`"10 minutes"`), which Spark reads, or a `timedelta`.
    They count to the millisecond, and a month has 31 days.

    Args:
        df: The DataFrame, streaming or not (on a batch DataFrame a watermark means nothing).
        column: A top-level column of type TIMESTAMP, or a window of timestamps. A name with dots
            may be given as it is or in backticks. A `Column` must be nothing but a name, such as
            `F.col("time")`.
        delay: How late rows may come; zero or more. Only with `noted` it may be left out.
        key: The name of this watermark in reports and in the checkpoint. Left out, the column's
            name is used.
        split_by: What distinguishes the splits of the input: a column's name (as for `column`, or
            that of a field inside one), an expression such as `F.input_file_name()`, a list of
            these, or a `SplitBy`. Its values can be ordered. Left out, the input is one split.
        idle_after: The short form of `idle=Idle(after=...)`: how long a split, or the input, has
            to be without rows before it is left out; a millisecond or more, in wall-clock time.
            `"none"`: never. Left out, the session's setting `spark.tidemark.idle.after`.
        idle: When a split or the input is idle, and what happens then: an `Idle`. Not together
            with `idle_after`.
        max_ahead: How far ahead of the wall clock an event time may be and still advance the
            watermark; a millisecond or more. Rows further ahead are kept, and counted. `"none"`:
            any event time counts. Left out, the session's setting `spark.tidemark.maxAhead`. With
            `noted` it is about noted times, and a day if nothing else is set.
        noted: The mark log in which the writers of this input note how far they are: its location,
            a folder or `kafka:<topic>/<stream>`; True for `_tidemark` in the path that is read; a
            `Marks`, whose settings count; or a `Noted`. The watermark is then the smallest time that
            all of them have noted for what has been read, and no row is late whose writer kept its
            word. Not together with `split_by`: the writers are the splits.

    Returns:
        The DataFrame with the watermark; its columns, their types and values are as before.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`, `NESTED_COLUMN`, `COLUMN_NOT_TIMESTAMP`, `INVALID_DELAY`,
            `INVALID_SPLITS`, `INVALID_OPTION`; for a session without the extension
            `EXTENSION_NOT_SET`, `JAR_MISSING`, `SESSION_BEFORE_JAR` or `SPARK_VERSION_MISMATCH`.
        IllegalArgumentException: From Spark, with the code `INVALID_OPTION` in it (`error_code` reads it),
            for a text that is not a length of time. A key used for two inputs is found when the query
            starts: `DUPLICATE_KEY`. The same call twice on one column is taken once.

    Example:
        >>> tidemark.with_watermark(
        ...     orders, "order_time", "10 minutes", key="orders",
        ...     split_by="partition", idle_after="1 minute",
        ... )  # doctest: +SKIP
        >>> tidemark.with_watermark(
        ...     orders, "order_time", "10 minutes",
        ...     split_by=tidemark.SplitBy("partition", expected=range(8)),
        ...     idle=tidemark.Idle(after="1 minute", when_all="rise"),
        ... )  # doctest: +SKIP
    """
    log = as_noted(noted)
    if delay is None and log is None:
        raise _no_delay()
    require_extension(df.sparkSession)
    found = find_named(df, column)
    require_timestamp(found.field)
    text = _delay_text(NO_DELAY if delay is None else delay)
    splits_of = as_split_by(split_by)
    if log is not None and splits_of is not None:
        raise invalid_option(
            "split_by",
            split_by,
            "left out where noted is given: the splits are then the writers",
            "leaving one of them out",
        )
    splits = split_columns(df, splits_of)
    options = read_options(
        key=key,
        split_by=splits_of,
        idle_after=idle_after,
        idle=idle,
        max_ahead=max_ahead,
        noted=log,
    )
    reference = found.reference
    if options or splits or _may_be_marked(found.field):
        df = _with_options(df, found.name, options, splits)
        reference = quoted(found.name)
    return _apply(df, reference, text)


def _no_delay() -> TidemarkError:
    return TidemarkError(
        "INVALID_DELAY",
        "with_watermark has no delay, which may be left out only with noted",
        'giving how late rows may come, such as "10 minutes", or "0 seconds" if none is late',
        value=None,
        reason="is left out",
    )


def _delay_text(delay: object) -> str:
    try:
        return interval_text(delay)
    except DurationError as problem:
        raise _invalid_delay(delay, str(problem)) from problem


def _may_be_marked(field: StructField | None) -> bool:
    # The key and the options of a watermark declared further up the stream came with its column.
    # They belong to that watermark, and not to the one that begins here. A field that is not known
    # may have them. The engine's function also shows Spark there whether the extension is active.
    if field is None:
        return True
    ours = any(name.startswith(_OUR_METADATA) for name in field.metadata)
    return ours and _DELAY_METADATA in field.metadata


def _with_options(df: DataFrame, column: str, options: Options, splits: list[Column]) -> DataFrame:
    from pyspark.sql import functions as F

    if is_name_of_several(df, column):
        raise TidemarkError(
            "UNKNOWN_COLUMN",
            f"Several columns are called {column!r}, so a key or splits cannot be set for one "
            "of them",
            "renaming them apart first, or by giving each its watermark before the join",
            column=column,
        )
    # withColumn takes the name as it is, dots and backticks included, and replaces that column. The
    # splits still see the DataFrame as the user has it, with its aliases.
    event_time = F.col(quoted(column))
    marked = F.call_function(_EVENT_TIME, event_time, F.lit(as_json(options)), *splits)
    return df.withColumn(column, marked)


def _apply(df: DataFrame, name: str, delay: str) -> DataFrame:
    from pyspark.errors import PySparkException

    if forbids_analysis(df.sparkSession):
        return df.withWatermark(name, delay)
    try:
        marked = df.withWatermark(name, delay)
        # Connect builds its plan lazily: asking for the schema is what makes it look.
        marked.schema  # noqa: B018
    except PySparkException as error:
        problem = _problem_with(error)
        if problem is None:
            raise
        raise _invalid_delay(delay, problem) from error
    return marked


def _invalid_delay(delay: object, problem: str) -> TidemarkError:
    return TidemarkError(
        "INVALID_DELAY",
        f"The delay {str(delay)!r} {problem}",
        'giving zero or more as an interval, such as "10 minutes", "1 hour 30 minutes" or '
        "timedelta(minutes=10)",
        value=delay,
        reason=problem,
    )


def _problem_with(error: Exception) -> str | None:
    """What Spark found wrong with a delay; None for an error about something else."""
    condition = getattr(error, "getCondition", lambda: None)() or ""
    text = str(error)
    if "delay threshold" in text:
        return "is negative"
    # Spark 4.0 says it in Java's words alone.
    if condition.startswith("INTERVAL_ARITHMETIC_OVERFLOW") or "long overflow" in text:
        return "is too long for Spark to count"
    if "CANNOT_PARSE_INTERVAL" in (condition or text):
        return "is not an interval Spark can parse"
    return None
