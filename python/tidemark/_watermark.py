"""`with_watermark`: Spark's `withWatermark` with its mistakes caught early and a key of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tidemark._columns import find_column, quoted, require_timestamp
from tidemark._errors import TidemarkError
from tidemark._session import require_extension

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

KEY_METADATA = "tidemark.key"
"""Column metadata that carries the key through the plan to the engine."""


_DELAY_METADATA = "spark.watermarkDelayMs"
_PLAIN_NAME = "__tidemark_event_time"


def with_watermark(
    df: DataFrame, column: str, delay: str | timedelta, *, key: str | None = None
) -> DataFrame:
    """Declares a column as event time, with a watermark of its own.

    What `df.withWatermark` does in plain Spark, on classic and Spark Connect DataFrames alike.
    With the extension on, both give the column its own watermark; this one also refuses a session
    in which the extension is not active, and can name the watermark.

    Args:
        df: The DataFrame, streaming or not (on a batch DataFrame a watermark means nothing).
        column: A top-level column of type TIMESTAMP, or a window of timestamps. A name with dots
            may be given as it is or in backticks.
        delay: How late rows may come, as Spark's interval text (`"10 minutes"`) or a `timedelta`;
            zero or more, to the millisecond.
        key: The name people know this watermark by, in reports and in the checkpoint. Left out,
            the column's name is used. Naming one adds a projection: qualifiers given before with
            `df.alias(...)` no longer reach this column.

    Returns:
        The DataFrame with the watermark.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`, `NESTED_COLUMN`, `COLUMN_NOT_TIMESTAMP`, `INVALID_DELAY`;
            for a session without the extension `EXTENSION_NOT_SET`, `JAR_MISSING`,
            `SESSION_BEFORE_JAR` or `SPARK_VERSION_MISMATCH`. A key used on two columns is found
            when the query starts: `DUPLICATE_KEY`.

    Example:
        >>> tidemark.with_watermark(orders, "order_time", "10 minutes", key="orders")
        ... # doctest: +SKIP
    """
    require_extension(df.sparkSession)
    name, field = find_column(df, column)
    require_timestamp(field)
    text = _delay_text(delay)
    if key is not None or _has_inherited_key(field):
        df = _with_key(df, field, key)
        name = quoted(field.name)
    return _apply(df, name, text)


def _delay_text(delay: str | timedelta) -> str:
    if isinstance(delay, timedelta):
        if delay < timedelta(0):
            raise _invalid_delay(delay, "is negative")
        return f"{delay.days} days {delay.seconds} seconds {delay.microseconds} microseconds"
    if not delay.strip():
        raise _invalid_delay(delay, "is empty")
    return delay


def _has_inherited_key(field: StructField) -> bool:
    # The key of a watermark declared further up the stream, which came along with its column: it
    # names that watermark and not the one that begins here.
    return KEY_METADATA in field.metadata and _DELAY_METADATA in field.metadata


def _with_key(df: DataFrame, field: StructField, key: str | None) -> DataFrame:
    if df.columns.count(field.name) > 1:
        raise TidemarkError(
            "UNKNOWN_COLUMN",
            f"Several columns are called {field.name!r}, so a key cannot be put on one of them",
            "renaming them apart first, or by giving each its watermark before the join",
        )
    metadata = {name: value for name, value in field.metadata.items() if name != KEY_METADATA}
    if key is not None:
        metadata[KEY_METADATA] = key
    if "." not in field.name and "`" not in field.name:
        return df.withMetadata(field.name, metadata)
    # withMetadata would take a dot for a nested field. (An alias with metadata inside withColumn
    # would do on classic, but Connect drops its metadata.)
    plain = df.withColumnRenamed(field.name, _PLAIN_NAME).withMetadata(_PLAIN_NAME, metadata)
    return plain.withColumnRenamed(_PLAIN_NAME, field.name)


def _apply(df: DataFrame, name: str, delay: str) -> DataFrame:
    from pyspark.errors import PySparkException

    try:
        marked = df.withWatermark(name, delay)
        # Connect builds its plan lazily: asking for the schema is what makes it look.
        marked.schema  # noqa: B018
    except PySparkException as error:
        problem = _delay_problem(error)
        if problem is None:
            raise
        raise _invalid_delay(delay, problem) from error
    return marked


def _delay_problem(error: Exception) -> str | None:
    condition = getattr(error, "getCondition", lambda: None)() or ""
    text = str(error)
    if "delay threshold" in text:
        return "is negative"
    if condition.startswith("INTERVAL_ARITHMETIC_OVERFLOW"):
        return "is too long for Spark to count"
    if "CANNOT_PARSE_INTERVAL" in (condition or text):
        return "is not an interval Spark can parse"
    return None


def _invalid_delay(delay: object, problem: str) -> TidemarkError:
    return TidemarkError(
        "INVALID_DELAY",
        f"The delay {str(delay)!r} {problem}",
        'giving zero or more as an interval, such as "10 minutes", "1 hour 30 minutes" or '
        "timedelta(minutes=10)",
    )
