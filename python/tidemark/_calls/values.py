"""Values of Python from and to Arrow: what a function is given, and what it may return."""

from __future__ import annotations

import dataclasses
import datetime
import math
import operator
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

Convert = Callable[[Any], Any]

_MOST_IN_FLOAT = 3.4028234663852886e38


def reader(kind: pa.DataType) -> Convert | None:
    """What is still to be done to a value that Arrow has turned into Python; None for nothing.

    Maps become dictionaries: Arrow has lists of pairs.
    """
    from pyarrow import types

    if types.is_map(kind):
        keys, values = reader(kind.key_type), reader(kind.item_type)
        return lambda value: {_if_any(keys, k): _if_any(values, v) for k, v in value}
    if types.is_list(kind) or types.is_large_list(kind):
        elements = reader(kind.value_type)
        return elements and (lambda value: [_if_any(elements, item) for item in value])
    if types.is_struct(kind):
        fields = {field.name: reader(field.type) for field in kind}
        if any(fields.values()):
            return lambda value: {name: _if_any(fields[name], item) for name, item in value.items()}
    return None


def writer(kind: pa.DataType) -> Convert | None:
    """What a result goes through before Arrow takes it; None for nothing.

    A struct may be a dictionary, a `Row`, a named tuple, a tuple or a dataclass.
    """
    from pyarrow import types

    if types.is_struct(kind):
        return _struct_writer(kind)
    if types.is_map(kind):
        keys = _element_writer(kind.key_field, "a key")
        values = _element_writer(kind.item_field, "a value")
        return lambda value: _distinct([(keys(k), values(v)) for k, v in _pairs(value)])
    if types.is_list(kind) or types.is_large_list(kind):
        element = _element_writer(kind.value_field, "an element")
        return lambda value: [element(item) for item in _elements(value)]
    if types.is_timestamp(kind):
        return _without_zone if kind.tz is None else _in_utc
    if types.is_integer(kind):
        return _integer
    return _checked(kind)


def _checked(kind: pa.DataType) -> Convert | None:
    """For types of which Arrow would take values that mean something else."""
    from pyarrow import types

    if types.is_floating(kind):
        return _single if types.is_float32(kind) else _number
    if types.is_decimal(kind):
        return _number
    if types.is_date(kind):
        return _date
    if types.is_string(kind) or types.is_large_string(kind):
        return _only(str)
    if types.is_binary(kind) or types.is_large_binary(kind):
        return _only(bytes, bytearray, memoryview)
    return None


def converted(convert: Convert | None, values: list[Any]) -> list[Any]:
    """All values through a `reader` or a `writer`. None stays None."""
    if convert is None:
        return values
    return [None if value is None else convert(value) for value in values]


def _if_any(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _struct_writer(kind: pa.StructType) -> Convert:
    writers = {field.name: _element_writer(field, f"field {field.name!r}") for field in kind}
    required = [field.name for field in kind if not field.nullable]

    def convert(value: Any) -> dict[str, Any]:
        fields = _fields(value, list(writers))
        unknown = [name for name in fields if name not in writers]
        if unknown:
            raise TypeError(f"it has no field {unknown[0]!r}, but {', '.join(map(repr, writers))}")
        missing = [name for name in required if name not in fields]
        if missing:
            raise TypeError(f"field {missing[0]!r} is missing, and its type allows no null")
        return {name: writers[name](item) for name, item in fields.items()}

    return convert


def _element_writer(field: pa.Field, what: str) -> Convert:
    """A writer of a part of a value. Arrow does not check whether the part may be null."""
    convert = writer(field.type)

    def checked(value: Any) -> Any:
        if value is None and not field.nullable:
            raise TypeError(f"{what} is null, and its type allows no null")
        return _if_any(convert, value)

    return checked


def _fields(value: Any, names: list[str]) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        own = getattr(value, "_fields", None) or getattr(value, "__fields__", None) or names
        if len(own) != len(value):
            raise TypeError(f"it has {len(value)} values for {len(own)} fields")
        return dict(zip(own, value, strict=True))
    raise TypeError(f"{type(value).__name__} is no dictionary, tuple, Row or dataclass")


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{type(value).__name__} is no dictionary")
    return list(value.items())


def _distinct(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The pairs, if no two keys are equal after their conversion: Spark has no such map."""
    try:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("two of its keys are equal")
    except TypeError:
        # A key that is a struct or an array has no hash.
        pass
    return pairs


def _integer(value: Any) -> Any:
    # Arrow would take True for 1, and 1.5 as well.
    if isinstance(value, bool):
        raise TypeError("bool is no integer")
    return operator.index(value)


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        raise TypeError("bool is no number")
    return value


def _single(value: Any) -> Any:
    number = _number(value)
    if isinstance(number, float) and math.isfinite(number) and abs(number) > _MOST_IN_FLOAT:
        raise ValueError(f"{number!r} is too large")
    return number


def _only(*kinds: type) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise TypeError(f"{type(value).__name__} is no {kinds[0].__name__}")
        return value

    return convert


def _elements(value: Any) -> Any:
    # A text is made of texts, and a dictionary of its keys. A generator can be read only once.
    if isinstance(value, (str, bytes, Mapping, Iterator, AsyncIterator)):
        raise TypeError(f"{type(value).__name__} is no list")
    return value


def _date(value: Any) -> Any:
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise TypeError(f"{type(value).__name__} is no date")
    return value


def _time(value: Any) -> datetime.datetime:
    if not isinstance(value, datetime.datetime):
        raise TypeError(f"{type(value).__name__} is no datetime")
    return value


def _in_utc(value: Any) -> Any:
    # A time without a zone is in the machine's, as in Spark's own functions in Python.
    return _time(value).astimezone(datetime.timezone.utc)


def _without_zone(value: Any) -> Any:
    if _time(value).tzinfo is not None:
        raise TypeError("the datetime has a zone, and the type has none")
    return value
