"""Expected splits: each value becomes the text of Spark's cast to STRING, or is refused."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any

import pytest
from support.raising import raising

from tidemark._watermark.split_names import expected_names

CET = timezone(timedelta(hours=1))


class Place(str, Enum):
    NORTH = "north"


class Number(IntEnum):
    THREE = 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        ("", ""),
        (" a\n'b\" ", " a\n'b\" "),
        ("ä", "ä"),
        (Place.NORTH, "north"),
        (0, "0"),
        (-7, "-7"),
        (2**63, "9223372036854775808"),
        (Number.THREE, "3"),
        (True, "true"),
        (False, "false"),
        (None, None),
        ("null", "null"),
        (date(2024, 5, 1), "2024-05-01"),
        (date(1, 2, 3), "0001-02-03"),
        (datetime(2024, 5, 1, 10, 5, tzinfo=timezone.utc), "2024-05-01 10:05:00"),
        (datetime(2024, 5, 1, 0, 30, tzinfo=CET), "2024-04-30 23:30:00"),
        (datetime(2024, 5, 1, 10, 5, 0, 120_000, timezone.utc), "2024-05-01 10:05:00.12"),
        (datetime(2024, 5, 1, 10, 5, 10, 1, timezone.utc), "2024-05-01 10:05:10.000001"),
        (datetime(99, 5, 1, tzinfo=timezone.utc), "0099-05-01 00:00:00"),
    ],
)
def test_an_expected_split_value_is_written_like_sparks_cast_to_string(
    value: Any, text: str | None
) -> None:
    assert expected_names([value], width=1) == [[text]]


@pytest.mark.parametrize(
    "value",
    [1.0, Decimal("1.50"), b"a", {"a": 1}, object(), datetime(2024, 5, 1), "\ud800",
     datetime(1, 1, 1, tzinfo=CET)],
)  # fmt: skip
def test_an_expected_split_value_without_a_unique_text_form_is_refused(value: Any) -> None:
    with raising("INVALID_SPLITS", value=value):
        expected_names([value], width=1)


def test_several_split_expressions_take_a_tuple_or_a_list_for_each_split() -> None:
    expected = [("orders", 0), ["orders", None]]
    assert expected_names(expected, width=2) == [["orders", "0"], ["orders", None]]


def test_expected_splits_accept_any_iterable_and_drop_duplicates() -> None:
    assert expected_names(range(3), width=1) == [["0"], ["1"], ["2"]]
    assert expected_names((name for name in ("b", "a", "b")), width=1) == [["b"], ["a"]]
    assert expected_names([1, "1", ("1",)], width=1) == [["1"]]
    assert expected_names([], width=1) == []


@pytest.mark.parametrize(
    ("expected", "width", "parameters"),
    [
        (["a"], 2, {"value": "a", "values": 1, "expressions": 2}),
        ([("a", "b", "c")], 2, {"values": 3, "expressions": 2}),
        ([("a", "b")], 1, {"values": 2, "expressions": 1}),
        ([()], 1, {"values": 0, "expressions": 1}),
        ("abc", 1, {"type": "str"}),
        (b"abc", 1, {"type": "bytes"}),
        ({"a": 1}, 1, {"type": "dict"}),
        (3, 1, {"type": "int"}),
    ],
)
def test_expected_splits_with_the_wrong_shape_are_refused(
    expected: Any, width: int, parameters: dict[str, Any]
) -> None:
    with raising("INVALID_SPLITS", **parameters):
        expected_names(expected, width)
