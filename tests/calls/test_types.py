"""Each of Spark's types that results may have: values there and back, and values of a wrong kind. No Spark."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from datetime import date, time, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import types as T

from tidemark import _bridge
from tidemark._calls.kinds import has_values
from tidemark._calls.values import converted, reader, writer

UTC = timezone.utc
PLAIN = datetime.datetime(2024, 1, 2, 3)
ZONED = PLAIN.replace(tzinfo=UTC)
WKB = bytes.fromhex("0101000000000000000000f03f0000000000000040")
VARIANT = T.VariantVal(b"\x0c\x01", b"\x01\x00\x00")


class Point(NamedTuple):
    a: int


# A value of every kind that a function may return, by its name.
VALUES: dict[str, Any] = {
    "yes": True,
    "one": 1,
    "half": 1.5,
    "nan": math.nan,
    "text": "a",
    "bytes": b"a",
    "decimal": Decimal("1.5"),
    "date": date(2024, 1, 2),
    "plain": PLAIN,
    "zoned": ZONED,
    "time": time(3, 4, 5, 6),
    "zoned time": time(3, 4, tzinfo=UTC),
    "hours": timedelta(hours=30),
    "list": [1],
    "point": Point(1),
    "fields": {"a": 1},
    "variant as bytes": {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"},
    "variant": VARIANT,
    "geometry as bytes": {"srid": 4326, "wkb": WKB},
    "object": object(),
}


class Kind(NamedTuple):
    """A type, and what the values that it takes are when they are read again."""

    name: str
    spark: T.DataType
    takes: Mapping[str, Any]


NUMBERS = {"one": 1.0, "half": 1.5, "nan": math.nan}
BYTES = T.StructType(
    [T.StructField("value", T.BinaryType(), False), T.StructField("metadata", T.BinaryType(), False)]
)  # fmt: skip
SECONDS, MINUTES, HOURS, DAYS = 3, 2, 1, 0
KINDS = [
    Kind("BYTE", T.ByteType(), {"one": 1}),
    Kind("SHORT", T.ShortType(), {"one": 1}),
    Kind("INT", T.IntegerType(), {"one": 1}),
    Kind("LONG", T.LongType(), {"one": 1}),
    Kind("FLOAT", T.FloatType(), NUMBERS),
    Kind("DOUBLE", T.DoubleType(), NUMBERS),
    Kind("DECIMAL", T.DecimalType(5, 2), {"one": Decimal(1), "decimal": Decimal("1.5")}),
    Kind("STRING", T.StringType(), {"text": "a"}),
    Kind("BINARY", T.BinaryType(), {"bytes": b"a"}),
    Kind("BOOLEAN", T.BooleanType(), {"yes": True}),
    Kind("DATE", T.DateType(), {"date": date(2024, 1, 2)}),
    # A time without a zone is in the machine's, which is UTC in tests.
    Kind("TIMESTAMP", T.TimestampType(), {"plain": ZONED, "zoned": ZONED}),
    Kind("TIMESTAMP_NTZ", T.TimestampNTZType(), {"plain": PLAIN}),
    Kind("DAY TO SECOND", T.DayTimeIntervalType(), {"hours": timedelta(hours=30)}),
    Kind("HOUR TO MINUTE", T.DayTimeIntervalType(HOURS, MINUTES), {"hours": timedelta(hours=30)}),
    Kind("HOUR", T.DayTimeIntervalType(HOURS, HOURS), {"hours": timedelta(hours=30)}),
    Kind("DAY", T.DayTimeIntervalType(DAYS, DAYS), {}),
    Kind("VARIANT", T.VariantType(), {"variant": VARIANT}),
    Kind("VOID", T.NullType(), {}),
    Kind("ARRAY", T.ArrayType(T.LongType()), {"list": [1], "point": [1]}),
    Kind("MAP", T.MapType(T.StringType(), T.LongType()), {"fields": {"a": 1}}),
    Kind("STRUCT", T.StructType().add("a", T.LongType()), {"fields": {"a": 1}, "point": {"a": 1}}),
    Kind("STRUCT OF BYTES", BYTES, {"variant as bytes": VALUES["variant as bytes"]}),
]
if hasattr(T, "TimeType"):
    KINDS.append(Kind("TIME", T.TimeType(), {"time": time(3, 4, 5, 6)}))
if hasattr(T, "Geometry"):
    VALUES |= {
        "geometry": T.Geometry(WKB, 4326),
        "geography": T.Geography(WKB, 4326),
        "geometry elsewhere": T.Geometry(WKB, 3857),
    }
    ANYWHERE = {
        "geometry": VALUES["geometry"],
        "geometry elsewhere": VALUES["geometry elsewhere"],
    }
    KINDS += [
        Kind("GEOMETRY", T.GeometryType(4326), {"geometry": VALUES["geometry"]}),
        Kind("GEOMETRY(ANY)", T.GeometryType("ANY"), ANYWHERE),
        Kind("GEOGRAPHY", T.GeographyType(4326), {"geography": VALUES["geography"]}),
    ]
REFUSED = (TypeError, ValueError, pa.ArrowException)


def there_and_back(value: Any, spark: T.DataType) -> Any:
    kind = _bridge.arrow_type(spark)
    array = pa.array(converted(writer(kind, spark), [value]), kind)
    (found,) = converted(reader(kind), array.to_pylist())
    return found


def shown(value: Any) -> str:
    """A text that tells apart what Python has as equal, such as 1 and True; and a NaN is that of a NaN."""
    if isinstance(value, dict):
        return str(sorted((shown(key), shown(item)) for key, item in value.items()))
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return f"{value.astimezone(UTC).replace(tzinfo=None)!r} in UTC"
    if isinstance(value, Decimal):
        return f"Decimal {value.normalize()}"
    return f"{type(value).__name__} {value!r}" if not isinstance(value, list) else str(value)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_type_takes_its_own_values_exactly_and_refuses_all_others(kind: Kind) -> None:
    for name, value in VALUES.items():
        inside: dict[str, tuple[Any, T.DataType]] = {
            "alone": (value, kind.spark),
            "in an array": ([value], T.ArrayType(kind.spark)),
            "in a map": ({"k": value}, T.MapType(T.StringType(), kind.spark)),
            "in a struct": ({"f": value}, T.StructType().add("f", kind.spark)),
            "deep inside": (
                [{"k": {"f": value}}],
                T.ArrayType(T.MapType(T.StringType(), T.StructType().add("f", kind.spark))),
            ),
        }
        for place, (outer, spark) in inside.items():
            if name not in kind.takes:
                with pytest.raises(REFUSED):
                    pytest.fail(f"{name} {place}: {there_and_back(outer, spark)!r}")
                continue
            found = there_and_back(outer, spark)
            if place == "deep inside":
                found = found[0]["k"]["f"]
            elif place != "alone":
                (found,) = found.values() if isinstance(found, dict) else found
            assert (name, place, shown(found)) == (name, place, shown(kind.takes[name]))


# Types that a key may have, and whose values have a hash in Python.
KEYS = [
    kind
    for kind in KINDS
    if kind.takes
    and not isinstance(kind.spark, (T.VariantType, T.MapType, T.StructType, T.ArrayType))
    and not kind.name.startswith("GEO")
]


@pytest.mark.parametrize("kind", KEYS, ids=lambda kind: kind.name)
def test_a_key_of_a_map_is_taken_and_refused_as_a_value_is(kind: Kind) -> None:
    spark = T.MapType(kind.spark, T.LongType())
    for name, value in VALUES.items():
        if isinstance(value, (list, dict)):
            continue
        if name in kind.takes:
            (key,) = there_and_back({value: 1}, spark)
            assert (name, shown(key)) == (name, shown(kind.takes[name]))
        else:
            with pytest.raises(REFUSED):
                pytest.fail(f"{name}: {there_and_back({value: 1}, spark)!r}")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_null_is_a_value_of_each_type(kind: Kind) -> None:
    assert there_and_back(None, kind.spark) is None
    assert there_and_back([None], T.ArrayType(kind.spark)) == [None]


NEAR = 0.10000000149011612
"""What 0.1 is as a FLOAT."""
PAIR = T.StructType().add("a", T.FloatType()).add("b", T.StringType())


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ([0.1, NEAR], T.FloatType()),
        ([float("nan"), float("nan") * 1], T.DoubleType()),
        ([float("nan"), np.float32("nan")], T.FloatType()),
        ([(0.1, "a"), (NEAR, "a")], PAIR),
        ([(float("nan"), "a"), (float("nan") * 1, "a")], PAIR),
        ([(0.1,), (NEAR,)], T.ArrayType(T.FloatType())),
        ([("a",), Point(a="a")], T.StructType().add("a", T.StringType())),  # type: ignore[arg-type]
        ([b"x", memoryview(b"x")], T.BinaryType()),
        ([ZONED, ZONED.astimezone(timezone(timedelta(hours=1)))], T.TimestampType()),
        ([ZONED, PLAIN], T.TimestampType()),
    ],
)
def test_keys_that_are_equal_for_spark_are_refused(keys: list[Any], kind: T.DataType) -> None:
    value = Pairs((key, n) for n, key in enumerate(keys))
    with pytest.raises(ValueError, match="two of its keys are equal"):
        there_and_back(value, T.MapType(kind, T.IntegerType()))


def test_keys_that_differ_for_spark_are_taken() -> None:
    for keys, kind in [
        ([0.1, 0.2, float("nan"), float("inf")], T.FloatType()),
        ([0.1, NEAR], T.DoubleType()),
        ([b"x", b"y"], T.BinaryType()),
    ]:
        assert len(there_and_back(dict.fromkeys(keys, 1), T.MapType(kind, T.LongType()))) == len(
            keys
        )


class Pairs(Mapping[Any, Any]):
    """A mapping that may have a key twice."""

    def __init__(self, pairs: Any) -> None:
        self._pairs = list(pairs)

    def __getitem__(self, key: Any) -> Any:
        return dict(self._pairs)[key]

    def __iter__(self) -> Any:
        return iter([key for key, _ in self._pairs])

    def __len__(self) -> int:
        return len(self._pairs)

    def items(self) -> Any:
        return self._pairs


@pytest.mark.parametrize(
    ("value", "kind", "reason"),
    [
        (1.9, T.DayTimeIntervalType(), "float is not a timedelta"),
        (1, T.DayTimeIntervalType(), "int is not a timedelta"),
        (pd.Timedelta(1500, "ns"), T.DayTimeIntervalType(), "has nanoseconds"),
        (pd.Timestamp("2024-01-01T00:00:00.000000001"), T.TimestampNTZType(), "has nanoseconds"),
        (pd.Timestamp("2024-01-01T00:00:00.000000001Z"), T.TimestampType(), "has nanoseconds"),
        (pd.NaT, T.TimestampType(), "NaT"),
        (timedelta.max, T.DayTimeIntervalType(), "too large"),
        (
            timedelta(days=1, hours=1),
            T.DayTimeIntervalType(DAYS, DAYS),
            "not a whole number of days",
        ),
        (timedelta(minutes=1), T.DayTimeIntervalType(DAYS, HOURS), "not a whole number of hours"),
        (
            timedelta(seconds=1),
            T.DayTimeIntervalType(HOURS, MINUTES),
            "not a whole number of minutes",
        ),
        ([timedelta(1, 1)], T.ArrayType(T.DayTimeIntervalType(DAYS)), "not a whole number of days"),
        (VALUES["variant as bytes"], T.VariantType(), "dict is not of type VariantVal"),
        ((b"\x0c\x01", b"\x01\x00\x00"), T.VariantType(), "tuple is not of type VariantVal"),
        (T.VariantVal("a", b"b"), T.VariantType(), "are not bytes"),  # type: ignore[arg-type]
        (np.longdouble("1e300"), T.FloatType(), "too large"),
        (np.longdouble("1e4000"), T.DoubleType(), "too large"),
        (np.float64(1e300), T.FloatType(), "too large"),
        (2**53 + 1, T.DoubleType(), "."),
        (2**24 + 1, T.FloatType(), "."),
        ("1", T.DoubleType(), "."),
        (np.str_("1"), T.DoubleType(), "."),
        (np.True_, T.DoubleType(), "."),
        (np.float64(1), T.LongType(), "interpreted as an integer"),
        (Decimal("1.255"), T.DecimalType(5, 2), "."),
        (12345, T.DecimalType(5, 2), "."),
        (200, T.ByteType(), "."),
    ],
)
def test_a_value_that_would_change_in_silence_is_refused(
    value: Any, kind: T.DataType, reason: str
) -> None:
    with pytest.raises(REFUSED, match=reason):
        pytest.fail(repr(there_and_back(value, kind)))


def test_a_time_with_a_zone_is_refused_where_the_type_has_none() -> None:
    if hasattr(T, "TimeType"):
        with pytest.raises(TypeError, match="the time has a zone, and the type has none"):
            there_and_back(time(3, tzinfo=UTC), T.TimeType())


def test_intervals_of_each_kind_keep_their_length() -> None:
    second, minute, hour, day = (
        timedelta(microseconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1),
    )  # fmt: skip
    for last, unit in [(SECONDS, second), (MINUTES, minute), (HOURS, hour), (DAYS, day)]:
        for value in (unit, -unit, 1000 * unit, timedelta(0)):
            assert there_and_back(value, T.DayTimeIntervalType(DAYS, last)) == value


def test_types_without_values_in_python_are_not_types_of_results() -> None:
    twice = T.StructType().add("a", T.LongType()).add("a", T.LongType())
    bad: list[T.DataType] = [T.StructType(), twice, T.ArrayType(twice)]
    if hasattr(T, "TimeType"):
        bad += [T.TimeType(3), T.MapType(T.StringType(), T.TimeType(0))]
    assert not any(map(has_values, bad))
    assert all(has_values(kind.spark) for kind in KINDS)
