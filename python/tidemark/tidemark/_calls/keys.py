"""What the key of a map is once Spark has it, so that two keys are seen to be equal."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_NAN: Final = "NaN"
"""A NaN is equal to nothing in Python, and to any other NaN in Spark. No number is equal to a text."""


def identity(kind: pa.DataType) -> Callable[[Any], Any]:
    """Makes of a key that Arrow takes what has a hash, and is equal for keys that Spark has as equal."""
    from pyarrow import types

    if types.is_floating(kind):
        return _single if types.is_float32(kind) else _double
    if types.is_struct(kind):
        fields = [(field.name, identity(field.type)) for field in kind]
        return lambda key: tuple(_of(part, key.get(name)) for name, part in fields)
    if types.is_list(kind) or types.is_large_list(kind):
        element = identity(kind.value_type)
        return lambda key: tuple(_of(element, item) for item in key)
    if types.is_binary(kind) or types.is_large_binary(kind):
        return bytes
    return lambda key: key


def _of(part: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else part(value)


def _double(key: Any) -> Any:
    return _NAN if key != key else key


def _single(key: Any) -> Any:
    if key != key:
        return _NAN
    try:
        (rounded,) = struct.unpack("f", struct.pack("f", key))
    except (struct.error, OverflowError):
        # Arrow refuses it.
        return key
    return rounded
