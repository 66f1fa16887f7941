"""Values that functions of `map_async` are given, and those that they return."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row

from tidemark._calls.older import arrays, in_lists
from tidemark._calls.values import converted, reader, writer

USER = pa.struct({"name": pa.string(), "tier": pa.int32()})
REQUIRED = pa.struct([pa.field("id", pa.int64(), nullable=False)])
SINCE = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)


def written(values: list[Any], kind: pa.DataType) -> list[Any]:
    return list(pa.array(converted(writer(kind), values), kind).to_pylist())


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([2**62 + 1, None], pa.int64()),
        ([SINCE, None], pa.timestamp("us", "UTC")),
        ([SINCE.replace(tzinfo=None), None], pa.timestamp("us")),
        ([date(2024, 1, 1), None], pa.date32()),
        ([1.5, float("inf"), 2.0, None], pa.float32()),
        ([Decimal("1.50"), None], pa.decimal128(5, 2)),
        ([b"x", None], pa.binary()),
        ([[1, None], None, []], pa.list_(pa.int64())),
        ([{"name": "a", "tier": None}, None], USER),
        ([{"a": 1}, None, {}], pa.map_(pa.string(), pa.int64())),
        ([[{"a": {"name": "x", "tier": 1}}]], pa.list_(pa.map_(pa.string(), USER))),
        ([{"maps": {"a": 1}}], pa.struct({"maps": pa.map_(pa.string(), pa.int64())})),
    ],
)
def test_what_is_written_is_read_again_exactly_and_null_is_none(
    values: list[Any], kind: Any
) -> None:
    arrow = pa.array(converted(writer(kind), values), kind)
    assert converted(reader(kind), arrow.to_pylist()) == values


@dataclass
class User:
    name: str
    tier: int


Named = namedtuple("Named", ["tier", "name"])


def test_a_struct_may_be_a_dictionary_a_tuple_a_row_or_a_dataclass() -> None:
    users = [
        {"tier": 1, "name": "a"},
        ("a", 1),
        Row(tier=1, name="a"),
        Row("a", 1),
        Named(1, "a"),
        User("a", 1),
    ]
    assert written(users, USER) == [{"name": "a", "tier": 1}] * 6


def test_a_field_that_a_dictionary_lacks_is_null() -> None:
    assert written([{"name": "a"}], USER) == [{"name": "a", "tier": None}]


@pytest.mark.parametrize(
    ("value", "kind", "reason"),
    [
        ({"nmae": "a"}, USER, "no field 'nmae', but 'name', 'tier'"),
        (("a", 1, 2), USER, "3 values for 2 fields"),
        ("a", USER, "str is not a dictionary, tuple, Row or dataclass"),
        (True, pa.int64(), "bool is not an integer"),
        ([1], pa.map_(pa.string(), pa.int64()), "list is not a dictionary"),
        (1.5, pa.int64(), "'float' object cannot be interpreted as an integer"),
        ("1", pa.int64(), "interpreted as an integer"),
        (1, pa.string(), "int is not of type str"),
        (b"x", pa.string(), "bytes is not of type str"),
        ("x", pa.binary(), "str is not of type bytes"),
        ("ab", pa.list_(pa.string()), "str is not a list"),
        ({"a": 1}, pa.list_(pa.string()), "dict is not a list"),
        (True, pa.float64(), "bool is not a number"),
        (True, pa.decimal128(5, 2), "bool is not a number"),
        (1e300, pa.float32(), "1e\\+300 is too large"),
        (5, pa.date32(), "int is not a date"),
        (SINCE, pa.date32(), "datetime is not a date"),
        (1714557600, pa.timestamp("us", "UTC"), "int is not a datetime"),
        (1714557600, pa.timestamp("us"), "int is not a datetime"),
        (SINCE, pa.timestamp("us"), "the datetime has a zone, and the type has none"),
        (2**40, pa.int32(), "(too large|out of bounds|overflow)"),
        ([{"name": 1}], pa.list_(USER), "int is not of type str"),
        ({"id": None}, REQUIRED, "field 'id' is null, and its type allows no null"),
        ({}, REQUIRED, "field 'id' is missing, and its type allows no null"),
        (
            [1, None],
            pa.list_(pa.field("element", pa.int64(), nullable=False)),
            "an element is null",
        ),
        (
            {"a": None},
            pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False)),
            "a value is null",
        ),
        ({None: 1}, pa.map_(pa.string(), pa.int64()), "a key is null"),
        (
            {SINCE: 1, SINCE.astimezone().replace(tzinfo=None): 2},
            pa.map_(pa.timestamp("us", "UTC"), pa.int64()),
            "two of its keys are equal",
        ),
    ],
)
def test_a_result_of_another_type_is_refused(value: Any, kind: Any, reason: str) -> None:
    with pytest.raises((TypeError, ValueError, pa.ArrowException), match=reason):
        written([value], kind)


def test_a_time_counts_in_its_zone_and_without_one_in_that_of_the_machine() -> None:
    kind = pa.timestamp("us", "UTC")
    elsewhere = SINCE.astimezone(timezone(timedelta(hours=9)))
    here = SINCE.astimezone().replace(tzinfo=None)
    assert written([SINCE, elsewhere, here], kind) == [SINCE] * 3


def test_on_spark_4_0_values_come_as_text_and_lose_nothing() -> None:
    # As Spark casts them to text.
    texts = [
        (["9007199254740993", None], pa.int64(), [2**53 + 1, None]),
        (["true", "false"], pa.bool_(), [True, False]),
        (["1.0E10", "-Infinity", float("nan")], pa.float64(), [1e10, float("-inf"), None]),
        (["12.30"], pa.decimal128(10, 2), [Decimal("12.30")]),
        (["2024-01-01", None], pa.date32(), [date(2024, 1, 1), None]),
        ([str(int(SINCE.timestamp()) * 10**6)], pa.timestamp("us", "UTC"), [SINCE]),
        (["2024-01-01 12:00:00.5"], pa.timestamp("us"), [datetime(2024, 1, 1, 12, 0, 0, 500_000)]),
        (["a", None, float("nan")], pa.string(), ["a", None, None]),
        ([b"\x00", None], pa.binary(), [b"\x00", None]),
    ]
    for given, kind, expected in texts:
        (column,) = arrays([pd.Series(given, dtype=object)], [kind])
        assert (column.type, column.to_pylist()) == (kind, expected)


def test_on_spark_4_0_each_result_is_in_a_list_so_that_a_null_is_not_lost() -> None:
    column = pa.array([{"name": "a", "tier": None}, None], USER)
    assert list(in_lists(column)) == [[{"name": "a", "tier": None}], [None]]
    pairs = pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))
    assert list(in_lists(pairs)) == [[{"a": 1}]]
