"""`split_by`: what decides which split of an input a row belongs to, as Spark's columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidemark._columns import find_expression
from tidemark._errors import TidemarkError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def split_columns(
    df: DataFrame, split_by: str | Column | Sequence[str | Column] | None
) -> list[Column]:
    """The expressions that name a row's split; none where an input is one split.

    Args:
        df: The DataFrame the expressions are about.
        split_by: A column's name, an expression, or several of them.

    Raises:
        TidemarkError: `INVALID_SPLITS`, `UNKNOWN_COLUMN`.
    """
    if split_by is None:
        return []
    several = list(split_by) if isinstance(split_by, (list, tuple)) else [split_by]
    if not several:
        raise TidemarkError(
            "INVALID_SPLITS",
            "split_by is an empty list",
            "naming what tells the splits apart, or by leaving it out: the input is one split then",
        )
    return [_column(df, one) for one in several]


def _column(df: DataFrame, one: object) -> Column:
    from pyspark.sql import Column

    if isinstance(one, Column):
        return one
    if isinstance(one, str):
        return find_expression(df, one)
    raise TidemarkError(
        "INVALID_SPLITS",
        f"split_by has {one!r} of type {type(one).__name__}, neither a column's name nor a Column",
        'giving names and Columns, such as "device", F.col("partition") or F.input_file_name()',
    )
