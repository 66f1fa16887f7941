"""`read_between` with a real Kafka broker: the same on classic Spark and on Spark Connect."""

from __future__ import annotations

from typing import Any

import pytest
from support.processes import run_script

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module", params=["classic", "connect"])
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    folder = str(tmp_path_factory.mktemp("between"))
    return run_script("between_kafka.py", folder, request.param, SPARK_TESTING="1")


# In partition 0 the rows are at minutes 0, 30 and 60 from 9:00 on, in partition 1 a minute later.
HOURS = [
    ["09:00", "09:01", "09:30", "09:31", "10:00", "10:01"],
    ["10:00", "10:01", "10:30", "10:31", "11:00", "11:01"],
    ["11:00", "11:01", "11:02", "11:30", "11:31", "11:32", "12:00", "12:01", "12:02"],
]


def test_adjacent_ranges_divide_a_topic(found: dict[str, Any]) -> None:
    assert found["ranges"] == HOURS
    assert found["whole"] == sorted(row for hour in HOURS for row in hour)
    assert found["nothing"] == [0, True]


def test_a_range_of_times_has_exactly_its_rows_and_does_not_begin_at_the_beginning(
    found: dict[str, Any],
) -> None:
    assert found["exact"] == ["11:00", "11:00", "11:01", "11:01", "11:02", "11:30"]
    # The deleted records are not before the place where all writers were below 11:31.
    assert found["by time"] == ["CUT_EXPIRED", ["11:32", "12:00"]]


def test_options_that_would_read_something_else_are_refused(found: dict[str, Any]) -> None:
    assert found["refused"] == [*["INVALID_OPTION"] * 4, "CUT_NOT_READABLE"]
    assert found["ahead"] == ["CUT_EXPIRED", "CUT_EXPIRED"]


def test_records_that_kafka_has_deleted_are_an_error(found: dict[str, Any]) -> None:
    assert found["gone"] == ["CUT_EXPIRED", "CUT_EXPIRED"]
    assert "Kafka has no record at offset 3 of orders-1" in found["says"]
    # A DataFrame from before fails as well, when it is read.
    assert "Some data may have been lost" in found["held"]
    assert found["later"] == HOURS[2]
    assert found["at earliest"] == ["10:00", "10:30", "10:31", "11:00", "11:01"]


def test_offsets_without_records_are_not_loss(found: dict[str, Any]) -> None:
    assert found["paid"] == [["1", "2"], [], [], ["4"]]
