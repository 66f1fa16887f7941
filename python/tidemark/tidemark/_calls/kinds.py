"""Spark's types: which ones results may have, and which ones inputs may not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidemark import _bridge
from tidemark._calls.errors import unreadable_input
from tidemark._errors import invalid_option

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_MICROS_DIGITS = 6
"""How many digits of a second a TIME has that Spark takes from Python."""


def result_type(df: DataFrame, returns: object) -> tuple[DataType, pa.DataType]:
    """The type of the results, as Spark and as Arrow has it.

    Raises:
        TidemarkError: `INVALID_OPTION`.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.types import DataType

    allowed = 'a type that Python functions may return, such as "name STRING, tier INT"'
    if isinstance(returns, str) and _bridge.forbids_analysis(df.sparkSession):
        raise invalid_option(
            "returns",
            returns,
            "a DataType, because Spark reads no text in a pipeline",
            "giving a DataType, such as StringType()",
        )
    try:
        kind = DataType.fromDDL(returns) if isinstance(returns, str) else returns
        if isinstance(kind, DataType) and has_values(kind):
            return kind, _bridge.arrow_type(kind)
    except (PySparkException, ValueError) as error:
        raise invalid_option("returns", returns, allowed) from error
    raise invalid_option("returns", returns, allowed)


def has_values(kind: DataType) -> bool:
    """Whether functions can return values of a type.

    They cannot for a struct without fields, or with two of one name. Nor can they for a TIME without
    microseconds, because Spark declares all of Python's times with them.
    """
    from pyspark.sql.types import StructType

    if isinstance(kind, StructType) and not kind.names:
        return False
    return all(map(_is_returnable, _parts(kind)))


def require_readable(df: DataFrame, column: str, inputs: Sequence[tuple[str, Column]]) -> None:
    """Refuses inputs of a type that Python has no values of: Spark's own error would name no input.

    Raises:
        TidemarkError: `ASYNC_INPUT_VALUE`.
    """
    from pyspark.sql.types import YearMonthIntervalType

    if _bridge.forbids_analysis(df.sparkSession):
        return
    schema = df.select(*(expression for _, expression in inputs)).schema
    for (name, _), field in zip(inputs, schema, strict=True):
        for part in _parts(field.dataType):
            if isinstance(part, YearMonthIntervalType):
                raise unreadable_input(column, name, TypeError(f"it is an {part.simpleString()}"))


def _is_returnable(part: DataType) -> bool:
    from pyspark.sql.types import StructType

    if isinstance(part, StructType):
        return len(set(part.names)) == len(part.names)
    # By its name, because Spark 4.0 does not have this type.
    return part.typeName() != "time" or getattr(part, "precision", None) == _MICROS_DIGITS


def _parts(kind: DataType) -> Iterator[DataType]:
    """A type, and all types inside it."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    yield kind
    inside: list[DataType] = []
    if isinstance(kind, StructType):
        inside = [field.dataType for field in kind]
    elif isinstance(kind, ArrayType):
        inside = [kind.elementType]
    elif isinstance(kind, MapType):
        inside = [kind.keyType, kind.valueType]
    for part in inside:
        yield from _parts(part)
