"""`SplitBy`: what decides which split of an input a row belongs to, and which splits to expect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from tidemark._errors import TidemarkError
from tidemark._watermark.columns import find_expressions
from tidemark._watermark.split_names import SplitValue, expected_names, listed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


# A Column cannot be compared: its == makes another Column.
@dataclass(frozen=True, eq=False)
class SplitBy:
    """The splits of an input: parts with a clock of their own, such as partitions or devices.

    The long form of `with_watermark(..., split_by="device")`.

    Attributes:
        by: What distinguishes the splits: a column's name or that of a field inside one, a `Column`
            such as `F.input_file_name()`, or a list of these. A null is a split like any other.
        expected: Splits that hold the watermark back until they have a row or are idle. For one
            expression a list of plain values (`range(8)`), for several a list of tuples. Text, whole
            numbers, booleans, dates, times with a zone, and None for null. Left out, none.
        forget_after: How long a split may have no rows while others have some before it is
            forgotten: it leaves memory, checkpoint and report. An interval of Spark, such as
            `"30 days"`, or a `timedelta`. It needs `idle_after`, and is no shorter, because a split
            that holds the watermark is not forgotten. A split that returns is new, and its rows up to
            the watermark are late. Expected splits and Kafka's partitions are never forgotten. Left
            out, no split is.

    Raises:
        TidemarkError: `INVALID_SPLITS` when it is made: `by` is empty or is neither names nor
            Columns, or `expected` is not a list, does not fit `by`, or has a value of another type.
            `with_watermark` reads `forget_after`, and raises `INVALID_OPTION`. The query raises it
            when it is planned, if there is no `idle_after`, or a longer one.

    Example:
        >>> SplitBy(["site", "line"], expected=[("north", 1), ("north", 2)]).expected
        (('north', 1), ('north', 2))
        >>> SplitBy("device", forget_after="30 days").forget_after
        '30 days'
    """

    by: str | Column | Sequence[str | Column]
    expected: Iterable[SplitValue | Sequence[SplitValue]] | None = field(default=None, kw_only=True)
    forget_after: str | timedelta | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.by, list):
            object.__setattr__(self, "by", tuple(self.by))
        width = len(_several(self.by))
        if self.expected is not None:
            expected = listed(self.expected)
            expected_names(expected, width)
            object.__setattr__(self, "expected", expected)


def as_split_by(
    split_by: str | Column | Sequence[str | Column] | SplitBy | None,
) -> SplitBy | None:
    """The long form of what was given as `split_by`.

    Raises:
        TidemarkError: `INVALID_SPLITS`.
    """
    if split_by is None or isinstance(split_by, SplitBy):
        return split_by
    return SplitBy(split_by)


def split_columns(df: DataFrame, split_by: SplitBy | None) -> list[Column]:
    """The expressions that name a row's split; none where an input is one split.

    Args:
        df: The DataFrame the expressions are about.
        split_by: What distinguishes the splits.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`.
    """
    if split_by is None:
        return []
    return find_expressions(df, _several(split_by.by))


def split_names(split_by: SplitBy) -> list[list[str | None]] | None:
    """The names of the expected splits, as Spark casts their values to text; None without any."""
    if split_by.expected is None:
        return None
    return expected_names(split_by.expected, len(_several(split_by.by)))


def _several(by: str | Column | Sequence[str | Column]) -> tuple[str | Column, ...]:
    several = tuple(by) if isinstance(by, (list, tuple)) else (by,)
    if not several:
        raise TidemarkError(
            "INVALID_SPLITS",
            "split_by is an empty list",
            "naming what distinguishes the splits, or by leaving it out for a single split",
        )
    for expression in several:
        _require_name_or_column(expression)
    return several


def _require_name_or_column(expression: object) -> None:
    from pyspark.sql import Column

    if not isinstance(expression, (str, Column)):
        raise TidemarkError(
            "INVALID_SPLITS",
            f"split_by has {expression!r} of type {type(expression).__name__}, "
            "neither a column's name nor a Column",
            'giving names and Columns, such as "device", F.col("partition") or F.input_file_name()',
            split=expression,
            type=type(expression).__name__,
        )
