"""Types that Arrow has as a struct of bytes and Spark as an object: VARIANT, GEOMETRY and GEOGRAPHY.

A dictionary of bytes is none of them: nothing says whether its bytes mean what the type expects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_ANY_SRID = -1
"""What a type says whose values may be of any reference system."""


def object_reader(kind: pa.StructType) -> Callable[[Any], Any] | None:
    """Makes the object of what Arrow has; None for a struct that is not an object."""
    tags = _tags(kind)
    if b"variant" in tags:
        variant = _of_spark("VariantVal")
        return lambda value: variant(value["value"], value["metadata"])
    shape = _shape_of(tags)
    if shape is not None:
        return lambda value: shape(value["wkb"], value["srid"])
    return None


def object_writer(kind: pa.StructType) -> Callable[[Any], Any] | None:
    """Makes what Arrow takes of the object; None for a struct that is not an object."""
    tags = _tags(kind)
    if b"variant" in tags:
        return _variant_writer(_of_spark("VariantVal"))
    shape = _shape_of(tags)
    if shape is not None:
        return _shape_writer(shape, int(tags.get(b"srid", _ANY_SRID)))
    return None


def _tags(kind: pa.StructType) -> dict[bytes, bytes]:
    """What Spark has written at a field of such a struct."""
    names = {field.name for field in kind}
    for field in kind:
        own = {"metadata": {"value"}, "wkb": {"srid"}}.get(field.name)
        if own is not None and field.metadata and own | {field.name} == names:
            return dict(field.metadata)
    return {}


def _shape_of(tags: dict[bytes, bytes]) -> Any:
    """The class of GEOMETRY or GEOGRAPHY; None for another type."""
    for tag, name in ((b"geometry", "Geometry"), (b"geography", "Geography")):
        if tag in tags:
            return _of_spark(name)
    return None


def _of_spark(name: str) -> Any:
    from pyspark.sql import types

    # An older Spark has neither the type nor its class.
    return getattr(types, name)


def _variant_writer(variant: Any) -> Callable[[Any], Any]:
    def convert(value: Any) -> dict[str, bytes]:
        _require(value, variant)
        parts = {"value": value.value, "metadata": value.metadata}
        if not all(isinstance(part, (bytes, bytearray)) for part in parts.values()):
            raise TypeError("the parts of the VariantVal are not bytes")
        return parts

    return convert


def _shape_writer(shape: Any, srid: int) -> Callable[[Any], Any]:
    def convert(value: Any) -> dict[str, Any]:
        _require(value, shape)
        if srid not in (_ANY_SRID, value.srid):
            raise ValueError(f"its SRID is {value.srid}, and that of the type is {srid}")
        if not isinstance(value.wkb, (bytes, bytearray)):
            raise TypeError(f"the WKB of the {shape.__name__} is not bytes")
        return {"srid": value.srid, "wkb": value.wkb}

    return convert


def _require(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} is not of type {kind.__name__}")
