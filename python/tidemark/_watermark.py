"""`with_watermark`: Spark's `withWatermark` with its mistakes caught early, and with splits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from tidemark._columns import find_column, is_name_of_several, name_of, quoted, require_timestamp
from tidemark._durations import DELAY_METADATA, problem_with
from tidemark._errors import TidemarkError
from tidemark._options import (
    JoinIdle,
    OnReturn,
    Options,
    WhenIdle,
    as_json,
    read_options,
)
from tidemark._session import require_extension
from tidemark._split_names import SplitValue
from tidemark._splits import split_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

_EVENT_TIME = "tidemark_event_time"
_OUR_METADATA = "tidemark."


def with_watermark(
    df: DataFrame,
    column: str | Column,
    delay: str | timedelta,
    *,
    key: str | None = None,
    split_by: str | Column | Sequence[str | Column] | None = None,
    idle_after: str | timedelta | None = None,
    expected_splits: Iterable[SplitValue | Sequence[SplitValue]] | None = None,
    on_return: OnReturn | None = None,
    when_idle: WhenIdle | None = None,
    max_ahead: str | timedelta | None = None,
    join_idle: JoinIdle | None = None,
) -> DataFrame:
    """Declares a column as event time, with a watermark of its own.

    What `df.withWatermark` does in plain Spark, on classic and Spark Connect DataFrames alike.
    With the extension on, both give the column its own watermark; this one also refuses a session
    in which the extension is not active, can name the watermark, and can say what the parts of the
    input are (its splits) and when a silent one is left out (idle).

    With splits the watermark is the minimum over their clocks, and a split's clock is its largest
    event time less the delay: a Kafka partition or a device that is behind loses no rows. Idle
    times and the ways to come back are those of Hazelcast Jet's event-time mapper (`hold`) and of
    Flink's status watermark valve (`catch_up`).

    A keyword left out, or None, means the session's setting, `spark.tidemark.idleAfter` and its
    kin, where there is one.

    Args:
        df: The DataFrame, streaming or not (on a batch DataFrame a watermark means nothing).
        column: A top-level column of type TIMESTAMP, or a window of timestamps. A name with dots
            may be given as it is or in backticks. A `Column` will do if it is nothing but a name,
            such as `F.col("time")`.
        delay: How late rows may come, as Spark's interval text (`"10 minutes"`) or a `timedelta`;
            zero or more, to the millisecond.
        key: The name people know this watermark by, in reports and in the checkpoint. Left out,
            the column's name is used. Giving this or any other keyword adds a projection:
            qualifiers given before with `df.alias(...)` no longer reach this column.
        split_by: What tells the splits of the input apart: a column's name (as for `column`, or
            that of a field inside one), an expression such as `F.input_file_name()`, or a list of
            these; of any type that can be ordered. A null is a split like any other. Left out, the
            input is one split.
        idle_after: How long a split has to say nothing while others speak, and nothing waits to be
            read, before it is left out of the minimum; and how long an input of which nothing is
            heard, before others no longer wait for it. Wall-clock time, as Spark's interval text or a `timedelta`;
            a millisecond or more. A month counts 31 days here, as in `delay`. `"none"`: never,
            whatever the session's setting.
        expected_splits: Splits that hold the watermark back until they are heard of, or idle. For
            one split expression a list of plain values (`range(8)`), for several a list of tuples.
            Text, whole numbers, booleans, dates, times with a zone, and None for null.
        on_return: What becomes of a split that was idle and speaks again behind the watermark.
            `"hold"`: the watermark stays where it is until the split has caught up.
            `"catch_up"`: the split is left out until then.
        when_idle: What becomes of the input when nothing at all is heard of it. `"hold"`: its
            splits and its watermark stand, so that nothing is late after a pause that was not
            before. `"rise"`: all splits fall idle, and the watermark rises to the largest clock.
            `"advance"`: it then follows the wall clock, less the delay.
        max_ahead: How far ahead of the wall clock an event time may be and still move the
            watermark; as `idle_after` is given. Rows further ahead are kept, and counted.
        join_idle: What a stream-stream join does while this input is idle. `"hold"`: it waits.
            `"follow"`: this input counts as far along as the other side.

    Returns:
        The DataFrame with the watermark; its columns, their types and values are as before.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`, `NESTED_COLUMN`, `COLUMN_NOT_TIMESTAMP`, `INVALID_DELAY`,
            `INVALID_SPLITS`, `INVALID_IDLE_AFTER`, `INVALID_MAX_AHEAD`, `INVALID_OPTION`; for a
            session without the extension `EXTENSION_NOT_SET`, `JAR_MISSING`, `SESSION_BEFORE_JAR`
            or `SPARK_VERSION_MISMATCH`. A key used for two inputs is found when the query starts:
            `DUPLICATE_KEY`.

    Example:
        >>> tidemark.with_watermark(
        ...     orders, "order_time", "10 minutes", key="orders",
        ...     split_by="partition", idle_after="1 minute",
        ... )  # doctest: +SKIP
    """
    session = df.sparkSession
    require_extension(session)
    name, field = find_column(df, name_of(column))
    require_timestamp(field)
    text = _delay_text(delay)
    splits = split_columns(df, split_by)
    options = read_options(
        session,
        splits=len(splits),
        key=key,
        idle_after=idle_after,
        expected_splits=expected_splits,
        on_return=on_return,
        when_idle=when_idle,
        max_ahead=max_ahead,
        join_idle=join_idle,
    )
    if options or splits or _is_marked_further_up(field):
        df = _with_options(df, field, options, splits)
        name = quoted(field.name)
    return _apply(df, name, text)


def _delay_text(delay: object) -> str:
    if isinstance(delay, timedelta):
        if delay < timedelta(0):
            raise _invalid_delay(delay, "is negative")
        return f"{delay.days} days {delay.seconds} seconds {delay.microseconds} microseconds"
    if not isinstance(delay, str):
        kind = type(delay).__name__
        raise _invalid_delay(delay, f"is of type {kind}, neither text nor a timedelta")
    if not delay.strip():
        raise _invalid_delay(delay, "is empty")
    return delay


def _is_marked_further_up(field: StructField) -> bool:
    # The key of a watermark declared further up the stream, and what else it was told, came along
    # with its column: that belongs to the other watermark and not to the one that begins here.
    ours = any(name.startswith(_OUR_METADATA) for name in field.metadata)
    return ours and DELAY_METADATA in field.metadata


def _with_options(
    df: DataFrame, field: StructField, options: Options, splits: list[Column]
) -> DataFrame:
    from pyspark.sql import functions as F

    if is_name_of_several(df, field.name):
        raise TidemarkError(
            "UNKNOWN_COLUMN",
            f"Several columns are called {field.name!r}, so no key and no splits can be put on one "
            "of them",
            "renaming them apart first, or by giving each its watermark before the join",
        )
    # withColumn takes the name as it is, dots and backticks included, and replaces that column. The
    # splits still see the DataFrame as the user has it, with its aliases.
    event_time = F.col(quoted(field.name))
    told = F.call_function(_EVENT_TIME, event_time, F.lit(as_json(options)), *splits)
    return df.withColumn(field.name, told)


def _apply(df: DataFrame, name: str, delay: str) -> DataFrame:
    from pyspark.errors import PySparkException

    try:
        marked = df.withWatermark(name, delay)
        # Connect builds its plan lazily: asking for the schema is what makes it look.
        marked.schema  # noqa: B018
    except PySparkException as error:
        problem = problem_with(error)
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
    )
