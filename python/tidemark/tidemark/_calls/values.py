"""Values of Python from and to Arrow: what a function is given, and what it may return."""

from __future__ import annotations

import dataclasses
import datetime
import math
import operator
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tidemark._calls.keys import identity
from tidemark._calls.objects import object_reader, object_writer

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType

Convert = Callable[[Any], Any]

_MOST_IN_FLOAT = 3.4028234663852886e38
_LAST_FIELDS = {
    0: (datetime.timedelta(days=1), "days"),
    1: (datetime.timedelta(hours=1), "hours"),
    2: (datetime.timedelta(minutes=1), "minutes"),
}
"""The last field of an interval such as HOUR TO MINUTE, by Spark's number. Seconds have a fraction."""


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
        made = object_reader(kind)
        if made is not None:
            return made
        fields = {field.name: reader(field.type) for field in kind}
        if any(fields.values()):
            return lambda value: {name: _if_any(fields[name], item) for name, item in value.items()}
    return None


def writer(kind: pa.DataType, declared: DataType | None = None) -> Convert | None:
    """What a result goes through before Arrow takes it; None for nothing.

    A struct may be a dictionary, a `Row`, a named tuple, a tuple or a dataclass.

    Args:
        kind: The type of the result as Arrow has it.
        declared: The same as Spark has it, which knows the fields of an interval.
    """
    from pyarrow import types

    if types.is_struct(kind):
        return object_writer(kind) or _struct_writer(kind, declared)
    if types.is_map(kind):
        keys = _element_writer(kind.key_field, "a key", getattr(declared, "keyType", None))
        values = _element_writer(kind.item_field, "a value", getattr(declared, "valueType", None))
        same = identity(kind.key_type)
        return lambda value: _distinct([(keys(k), values(v)) for k, v in _pairs(value)], same)
    if types.is_list(kind) or types.is_large_list(kind):
        inner = getattr(declared, "elementType", None)
        element = _element_writer(kind.value_field, "an element", inner)
        return lambda value: [element(item) for item in _elements(value)]
    if types.is_timestamp(kind):
        return _without_zone if kind.tz is None else _in_utc
    if types.is_duration(kind):
        return _interval_writer(getattr(declared, "endField", None))
    if types.is_integer(kind):
        return _integer
    return _checked(kind)


def _checked(kind: pa.DataType) -> Convert | None:
    """For types of which Arrow would take values that mean something else."""
    from pyarrow import types

    if types.is_floating(kind):
        return _single if types.is_float32(kind) else _double
    if types.is_decimal(kind):
        return _number
    if types.is_date(kind):
        return _date
    if types.is_time(kind):
        return _time_of_day
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


def _struct_writer(kind: pa.StructType, declared: DataType | None) -> Convert:
    inner = {field.name: field.dataType for field in getattr(declared, "fields", ())}
    writers = {
        field.name: _element_writer(field, f"field {field.name!r}", inner.get(field.name))
        for field in kind
    }
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


def _element_writer(field: pa.Field, what: str, declared: DataType | None) -> Convert:
    """A writer of a part of a value. Arrow does not check whether the part may be null."""
    convert = writer(field.type, declared)

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
    raise TypeError(f"{type(value).__name__} is not a dictionary, tuple, Row or dataclass")


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{type(value).__name__} is not a dictionary")
    return list(value.items())


def _distinct(pairs: list[tuple[Any, Any]], same: Convert) -> list[tuple[Any, Any]]:
    """The pairs, if no two keys are equal after their conversion: Spark has no such map."""
    # A key that is null has been refused, unless the type of a map allows it.
    if len({_if_any(same, key) for key, _ in pairs}) < len(pairs):
        raise ValueError("two of its keys are equal")
    return pairs


def _integer(value: Any) -> Any:
    # Arrow would take True for 1, and 1.5 as well.
    if isinstance(value, bool):
        raise TypeError("bool is not an integer")
    return operator.index(value)


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        raise TypeError("bool is not a number")
    return value


def _double(value: Any) -> Any:
    number = _number(value)
    # Numbers of numpy may be larger than a DOUBLE, which would have them as infinite.
    if not isinstance(number, (int, float)) and hasattr(number, "__float__"):
        _require_finite(number, float(number))
    return number


def _single(value: Any) -> Any:
    number = _double(value)
    if isinstance(number, (int, str, bytes)) or not hasattr(number, "__float__"):
        return number
    if math.isfinite(number) and abs(number) > _MOST_IN_FLOAT:
        raise ValueError(f"{number!r} is too large")
    return number


def _require_finite(value: Any, as_float: float) -> None:
    if math.isinf(as_float) and value != as_float:
        raise ValueError(f"{value!r} is too large")


def _only(*kinds: type) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise TypeError(f"{type(value).__name__} is not of type {kinds[0].__name__}")
        return value

    return convert


def _elements(value: Any) -> Any:
    # A text is made of texts, and a dictionary of its keys. A generator can be read only once.
    if isinstance(value, (str, bytes, Mapping, Iterator, AsyncIterator)):
        raise TypeError(f"{type(value).__name__} is not a list")
    return value


def _date(value: Any) -> Any:
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise TypeError(f"{type(value).__name__} is not a date")
    return value


def _time(value: Any) -> datetime.datetime:
    if not isinstance(value, datetime.datetime):
        raise TypeError(f"{type(value).__name__} is not a datetime")
    _require_micros(value, "nanosecond")
    return value


def _in_utc(value: Any) -> Any:
    # A time without a zone is in the machine's, as in Spark's own functions in Python.
    return _time(value).astimezone(datetime.timezone.utc)


def _without_zone(value: Any) -> Any:
    if _time(value).tzinfo is not None:
        raise TypeError("the datetime has a zone, and the type has none")
    return value


def _time_of_day(value: Any) -> Any:
    if not isinstance(value, datetime.time):
        raise TypeError(f"{type(value).__name__} is not a time")
    if value.tzinfo is not None:
        raise TypeError("the time has a zone, and the type has none")
    return value


def _interval_writer(last_field: int | None) -> Convert:
    unit, units = _LAST_FIELDS.get(3 if last_field is None else last_field, (None, ""))

    def convert(value: Any) -> Any:
        if not isinstance(value, datetime.timedelta):
            raise TypeError(f"{type(value).__name__} is not a timedelta")
        _require_micros(value, "nanoseconds")
        if unit is not None and value % unit:
            raise ValueError(f"{value} is not a whole number of {units}")
        return value

    return convert


def _require_micros(value: Any, attribute: str) -> None:
    # The times of pandas have parts that neither Python nor Spark has.
    if getattr(value, attribute, 0):
        raise ValueError(f"{value} has nanoseconds")
