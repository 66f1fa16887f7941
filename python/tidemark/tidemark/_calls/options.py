"""What `map_async` is given: each option is checked, and a wrong one is named."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tidemark import _bridge
from tidemark._calls.values import converted, writer
from tidemark._errors import invalid_option
from tidemark._watermark.columns import find_expressions, has_column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_FAIL: Final = "fail"
_NULL: Final = "null"


@dataclass(frozen=True)
class Default:
    """The result of a row whose last call failed, for `on_error` of `map_async`.

    Attributes:
        value: A value of the type in `returns`, or None.

    Example:
        >>> tidemark.map_async(
        ...     orders, "country", country_of, inputs="address", returns="STRING",
        ...     on_error=tidemark.Default("unknown"),
        ... )  # doctest: +SKIP
    """

    value: object


def require_new(df: DataFrame, column: object) -> None:
    if not isinstance(column, str) or not column:
        raise invalid_option("column", column, "the name of the new column")
    if has_column(df, column):
        raise invalid_option("column", column, "a name that no column of the DataFrame has yet")


def expressions(df: DataFrame, given: Any, option: str = "inputs") -> list[tuple[str, Column]]:
    """What has been named or computed, each with a name for messages."""
    from pyspark.sql import Column

    is_list = option == "inputs" and isinstance(given, (list, tuple))
    several: Sequence[str | Column] = given if is_list else [given]
    if not several or not all(isinstance(column, (str, Column)) for column in several):
        what = "a column's name or a Column"
        raise invalid_option(
            option, given, f"{what}, or a list of these" if option == "inputs" else what
        )
    names = [
        column if isinstance(column, str) else _bridge.plain_name(column) or str(column)
        for column in several
    ]
    return list(zip(names, find_expressions(df, several), strict=True))


def number(option: str, value: object, *, at_least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise invalid_option(option, value, f"a whole number, {at_least} or more")
    return value


def true_or_false(option: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise invalid_option(option, value, "True or False")
    return value


def is_async(function: Callable[..., Any]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    called = type(function).__call__ if not inspect.isroutine(function) else function
    return inspect.iscoroutinefunction(called)


def default_of(
    on_error: object, kind: pa.DataType, result: DataType
) -> Callable[..., object] | None:
    import pyarrow as pa

    if isinstance(on_error, Default):
        default = on_error.value
        try:
            pa.array(converted(writer(kind, result), [default]), kind)
        except Exception as error:
            raise invalid_option(
                "on_error", on_error, f"a default of the type in returns, {kind}"
            ) from error
        return lambda *_: default
    if callable(on_error) and on_error is not Default:
        return on_error
    if on_error == _FAIL:
        return None
    if on_error == _NULL:
        return lambda *_: None
    raise invalid_option(
        "on_error", on_error, "'fail', 'null', tidemark.Default(value), or a function of the error"
    )
