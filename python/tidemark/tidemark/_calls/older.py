"""Spark 4.0, which has no functions over Arrow's columns: inputs as text, and each result in a list.

Its functions over pandas turn integers beside a null into floating point, and cannot return a struct
that is null. Text and lists lose nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidemark._calls.values import converted, reader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import DataType


def as_text(column: Column, kind: DataType) -> Column | None:
    """A column as `arrays` reads it; None for a type that cannot be sent so."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType, TimestampType

    if isinstance(kind, (ArrayType, MapType, StructType)):
        return None
    if isinstance(kind, BinaryType):
        return column
    if isinstance(kind, TimestampType):
        return F.unix_micros(column).cast("string")
    return column.cast("string")


def arrays(series: Sequence[Any], kinds: Sequence[pa.DataType]) -> list[pa.Array]:
    """Columns of pandas, made by `as_text`, as Arrow's columns of these types."""
    import pyarrow as pa

    found = []
    for column, kind in zip(series, kinds, strict=True):
        # pandas may have a NaN for a text that is null.
        values = [None if isinstance(value, float) else value for value in column]
        if pa.types.is_binary(kind):
            found.append(pa.array(values, kind))
        elif pa.types.is_timestamp(kind) and kind.tz is not None:
            found.append(pa.array(values, pa.string()).cast(pa.int64()).cast(kind))
        else:
            found.append(pa.array(values, pa.string()).cast(kind))
    return found


def in_lists(column: pa.Array) -> Any:
    """Results as a column of pandas, each in a list of its own."""
    import pandas as pd

    return pd.Series([[value] for value in converted(reader(column.type), column.to_pylist())])
