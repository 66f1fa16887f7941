"""Finds the columns that a user named, and says in words why one is missing, or no event time."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from tidemark import _bridge
from tidemark._errors import TidemarkError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField, StructType


class Found(NamedTuple):
    """A column that a user means.

    Attributes:
        reference: The column in words that Spark understands.
        name: The name to replace it by.
        field: Its type and its metadata. None in the function of a pipeline's flow, where Spark
            refuses to look (`_bridge.forbids_analysis`).
    """

    reference: str
    name: str
    field: StructField | None


def quoted(name: str) -> str:
    """A column's exact name as Spark's parser takes it, dots, blanks and backticks included."""
    return "`" + name.replace("`", "``") + "`"


def name_of(column: object) -> str:
    """The name a user has given for a column, as text or as a `Column` that is nothing but a name.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`.
    """
    from pyspark.sql import Column

    if isinstance(column, str):
        return column
    if isinstance(column, Column):
        name = _bridge.plain_name(column)
        if name is not None:
            return name
        raise TidemarkError(
            "UNKNOWN_COLUMN",
            f"{column} is computed, but event time must be a column of the DataFrame",
            'adding it first: df.withColumn("event_time", ...), then "event_time"',
            column=column,
        )
    raise TidemarkError(
        "UNKNOWN_COLUMN",
        f"The event-time column is {column!r} of type {type(column).__name__}, not a name",
        'naming a column of the DataFrame, such as "event_time" or F.col("event_time")',
        column=column,
        type=type(column).__name__,
    )


def find_named(df: DataFrame, column: object) -> Found:
    """The column that a name stands for, or a `Column` that is nothing but a name.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`, also for a column that was taken from another DataFrame and
            is not one of this; `NESTED_COLUMN`.
    """
    name = name_of(column)
    require_own(df, column, name)
    return find_column(df, name)


def require_own(df: DataFrame, column: object, name: str) -> None:
    """Refuses a column of another DataFrame: this one may have another column of the same name.

    Where Spark refuses to look, it says so itself.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`.
    """
    if not is_taken(column) or _bridge.forbids_analysis(df.sparkSession):
        return
    if _resolved(df, column) is None:
        raise TidemarkError(
            "UNKNOWN_COLUMN",
            f"Column {name!r} was taken from another DataFrame, and is not a column of this one",
            f'naming a column of this DataFrame, such as F.col("{name}"), or by taking it from this '
            "one",
            column=name,
        )


def is_taken(column: object) -> bool:
    """Whether it is a `Column` that was taken from a DataFrame, as `df.time` is."""
    from pyspark.sql import Column

    return isinstance(column, Column) and _bridge.is_of_a_data_frame(column)


def find_column(df: DataFrame, column: str) -> Found:
    """The column a user means, in words Spark understands.

    The exact name of a top-level column wins, dots and blanks included, so that no backticks are
    needed; a name in backticks means the same. Upper and lower case count as in the session.
    `alias.column` after `df.alias("alias")` works as in Spark. Where Spark refuses to look, the name
    is taken for the exact one.

    Args:
        df: The DataFrame.
        column: The name as the user wrote it.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`, `NESTED_COLUMN`.
    """
    name = _without_backticks(column)
    if _bridge.forbids_analysis(df.sparkSession):
        return Found(quoted(name), name, None)
    schema = df.schema
    field = _field(df, schema, name)
    if field is not None:
        return Found(quoted(field.name), field.name, field)

    *qualifier, last = name.split(".")
    if qualifier and _field(df, schema, qualifier[0]) is not None:
        raise TidemarkError(
            "NESTED_COLUMN",
            f"Column {column!r} is a field inside column {qualifier[0]!r}, but event time must be "
            "a top-level column",
            f'adding one first: df.withColumn("{last}", F.col("{name}")), then "{last}"',
            column=column,
            parent=qualifier[0],
        )
    if len(qualifier) == 1 and _field(df, schema, last) is not None:
        qualified = _resolved(df, name)
        if qualified is not None:
            return Found(name, qualified.name, qualified)
    raise _unknown(column, schema)


def find_expression(df: DataFrame, name: str) -> Column:
    """What a name stands for, where a field inside a column will do as well as a column.

    The exact name of a top-level column wins, as in `find_column`. Everything else is as in Spark:
    fields, aliases, and hidden columns such as `_metadata.file_path`. Where Spark refuses to look,
    all is as in Spark.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`.
    """
    from pyspark.sql import functions as F

    if _bridge.forbids_analysis(df.sparkSession):
        return F.col(name)
    schema = df.schema
    field = _field(df, schema, _without_backticks(name))
    if field is not None:
        return F.col(quoted(field.name))
    # A star would be taken for a column when there is just one.
    if name.endswith("*") or _resolved(df, name) is None:
        raise _unknown(name, schema)
    return F.col(name)


def find_expressions(df: DataFrame, given: Iterable[str | Column]) -> list[Column]:
    """What names stand for, and expressions as they are.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`.
    """
    return [find_expression(df, each) if isinstance(each, str) else each for each in given]


def is_name_of_several(df: DataFrame, name: str) -> bool:
    """Whether a name fits more than one top-level column, as the session compares names."""
    return _columns_called(df, name) > 1


def has_column(df: DataFrame, name: str) -> bool:
    """Whether a name fits a top-level column, as the session compares names."""
    return _columns_called(df, name) > 0


def _columns_called(df: DataFrame, name: str) -> int:
    if _bridge.forbids_analysis(df.sparkSession):
        # Where Spark refuses to look, it is Spark that finds a name ambiguous, or taken.
        return 0
    if _is_case_sensitive(df):
        return df.columns.count(name)
    return [column.lower() for column in df.columns].count(name.lower())


def require_timestamp(field: StructField | None) -> None:
    """Refuses every type but those Spark takes as event time: TIMESTAMP, or a window of them.

    A field that is not known is left to Spark, which refuses the same types.

    Raises:
        TidemarkError: `COLUMN_NOT_TIMESTAMP`.
    """
    if field is None or _is_event_time(field.dataType):
        return
    kind = field.dataType.simpleString()
    raise TidemarkError(
        "COLUMN_NOT_TIMESTAMP",
        f"Column {field.name!r} is of type {kind}, but event time must be a timestamp (or a "
        "window of timestamps)",
        f"converting it first: {_conversion(field)}",
        column=field.name,
        dataType=kind,
    )


def _conversion(field: StructField) -> str:
    from pyspark.sql.types import NumericType

    column = f'F.col("{quoted(field.name)}")'
    if isinstance(field.dataType, NumericType):
        # Spark casts a number as seconds: milliseconds would be in the year 58000.
        return (
            f'df.withColumn("{field.name}", F.timestamp_millis({column})) if it counts '
            f"milliseconds, or F.timestamp_seconds({column}) if it counts seconds"
        )
    return f'df.withColumn("{field.name}", {column}.cast("timestamp"))'


def _is_event_time(kind: DataType) -> bool:
    from pyspark.sql.types import StructType, TimestampType

    if isinstance(kind, StructType):
        # Spark's own rule for window(...): a struct with a timestamp called "end".
        return any(f.name == "end" and isinstance(f.dataType, TimestampType) for f in kind.fields)
    return isinstance(kind, TimestampType)


def _field(df: DataFrame, schema: StructType, name: str) -> StructField | None:
    for field in schema.fields:
        if field.name == name:
            return field
    if _is_case_sensitive(df):
        return None
    return next((f for f in schema.fields if f.name.lower() == name.lower()), None)


def _is_case_sensitive(df: DataFrame) -> bool:
    # Spark keeps the text as it was set, and reads " TRUE" as true.
    setting = str(df.sparkSession.conf.get("spark.sql.caseSensitive", "false"))
    return setting.strip().lower() == "true"


def _without_backticks(column: str) -> str:
    if len(column) > 2 and column[0] == column[-1] == "`":
        inner = column[1:-1]
        if "`" not in inner.replace("``", ""):
            return inner.replace("``", "`")
    return column


def _resolved(df: DataFrame, column: Any) -> StructField | None:
    from pyspark.errors import AnalysisException

    # That there is no such column is an answer here, and not an error to be shown.
    with _bridge.expecting_an_error():
        try:
            return df.select(column).schema.fields[0]
        except AnalysisException:
            return None


def _unknown(column: str, schema: StructType) -> TidemarkError:
    names = schema.fieldNames()
    near = difflib.get_close_matches(column, names, n=3, cutoff=0.5) or names[:5]
    return TidemarkError(
        "UNKNOWN_COLUMN",
        f"There is no column {column!r} in this DataFrame",
        f"naming one of its columns, such as {', '.join(map(repr, near))}"
        if near
        else "reading data that has columns: this DataFrame has none",
        column=column,
    )
