"""Lengths of time as users give them: the plain ones, which Spark is not asked about."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

import pytest
from pyspark.sql import SparkSession

from tidemark._durations import DurationError, plain_micros, positive_millis

DAY = 86_400_000

# Asking it anything is an error.
NOBODY = cast(SparkSession, object())


@pytest.mark.parametrize(
    ("value", "millis"),
    [
        ("1 minute", 60_000),
        ("10 minutes", 600_000),
        ("1 hour 30 minutes", 5_400_000),
        ("  Interval  1 DAY\t2 Hours\n", DAY + 7_200_000),
        ("1 millisecond", 1),
        ("1999 microseconds", 1),
        ("2 weeks", 14 * DAY),
        ("1 month", 31 * DAY),
        ("1 year", 372 * DAY),
        ("0 days 1 second", 1_000),
        ("007 seconds", 7_000),
        (timedelta(minutes=1), 60_000),
        (timedelta(days=1, seconds=2, milliseconds=3), DAY + 2_003),
        (timedelta(weeks=5000), 5000 * 7 * DAY),
        (timedelta(milliseconds=1, microseconds=999), 1),
    ],
)
def test_plain_text_and_timedeltas_are_read_without_spark(
    value: str | timedelta, millis: int
) -> None:
    assert positive_millis(value, NOBODY) == millis


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("0 seconds", "is zero"),
        (timedelta(0), "is zero"),
        ("999 microseconds", "is less than a millisecond"),
        (timedelta(microseconds=1), "is less than a millisecond"),
        (timedelta(microseconds=-1), "is negative"),
        (timedelta.max, "is too long for Spark to count"),
        ("999999999 days", "is too long for Spark to count"),
        (60, "is of type int, neither text nor a timedelta"),
    ],
)
def test_what_is_no_length_of_time_says_why(value: object, problem: str) -> None:
    with pytest.raises(DurationError, match=problem):
        positive_millis(value, NOBODY)


@pytest.mark.parametrize(
    "text",
    ["soon", "10", "-1 minute", "1.5 seconds", "INTERVAL '5' MINUTE", "1minute", "1 fortnight",
     "1 minutess", "1 minute,", "minute 1", f"{'9' * 5000} days", "1 minute 2"],
)  # fmt: skip
def test_any_other_text_is_for_spark_to_read(text: str) -> None:
    assert plain_micros(text) is None
