"""The column of a UDF that is a function over all batches of a task: over Arrow, or over pandas on Spark 4.0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tidemark import _bridge
from tidemark._calls.older import as_text
from tidemark._errors import invalid_option

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType


def over_arrow(task: Callable[..., Any], result: DataType) -> Callable[..., Column]:
    import pyarrow as pa
    from pyspark.sql.pandas.functions import arrow_udf

    return _declared(arrow_udf, task, pa.Array, result)


def over_pandas(task: Callable[..., Any], result: DataType) -> Callable[..., Column]:
    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf
    from pyspark.sql.types import ArrayType

    return _declared(pandas_udf, task, pd.Series, ArrayType(result))


def _declared(
    declare: Any, task: Callable[..., Any], column: type, result: DataType
) -> Callable[..., Column]:
    # Spark reads from these that it is a function over all batches of a task.
    task.__annotations__ = {
        "batches": Iterator[tuple[column, ...]],  # type: ignore[valid-type]
        "return": Iterator[column],  # type: ignore[valid-type]
    }
    # Nondeterministic: the optimizer must not evaluate it twice, which would call twice.
    udf: Callable[..., Column] = declare(task, returnType=result).asNondeterministic()
    return udf


def as_texts(df: DataFrame, columns: list[Column]) -> tuple[list[Column], list[pa.DataType]]:
    """For Spark 4.0: the columns as text, and what they are."""
    texts, kinds = [], []
    for column, field in zip(columns, df.select(*columns).schema, strict=True):
        text = as_text(column, field.dataType)
        if text is None:
            raise invalid_option(
                "inputs",
                field.name,
                "a simple type before Spark 4.1, not a struct, array or map",
                "giving its parts",
            )
        texts.append(text)
        kinds.append(_bridge.arrow_type(field.dataType))
    return texts, kinds
