"""Durations as users give them, before Spark parses them."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

import pytest
from pyspark.sql import SparkSession

from tidemark._watermark.durations import DurationError, interval_text, positive_millis

# Stands for a session; any use of it is an error.
NO_SESSION = cast(SparkSession, object())


@pytest.mark.parametrize("text", ["1 minute", " Interval  1 DAY\t2 Hours\n", "soon", "-1 minute"])
def test_interval_text_reaches_spark_unchanged(text: str) -> None:
    assert interval_text(text) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(0), "0 days 0 seconds 0 microseconds"),
        (timedelta(minutes=1), "0 days 60 seconds 0 microseconds"),
        (timedelta(days=1, hours=2, microseconds=3), "1 days 7200 seconds 3 microseconds"),
        (timedelta(weeks=5000), "35000 days 0 seconds 0 microseconds"),
    ],
)
def test_a_timedelta_becomes_an_interval(value: timedelta, text: str) -> None:
    assert interval_text(value) == text


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        (timedelta(microseconds=-1), "is negative"),
        (60, "is of type int, neither text nor a timedelta"),
        (None, "is of type NoneType, neither text nor a timedelta"),
    ],
)
def test_invalid_durations_are_rejected_before_spark_parses_them(
    value: object, problem: str
) -> None:
    with pytest.raises(DurationError, match=problem):
        positive_millis(value, NO_SESSION)


def test_a_plain_text_is_read_without_spark_in_the_function_of_a_pipelines_flow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tidemark._bridge.forbids_analysis", lambda _: True)
    lengths = {
        "1 minute": 60_000,
        " 2 Hours  30 seconds": 7_230_000,
        "1 week 1 day": 8 * 86_400_000,
        "1 second 1 second": 2000,
        "200 milliseconds 999 microseconds": 200,
    }
    assert {text: positive_millis(text, NO_SESSION) for text in lengths} == lengths
    assert positive_millis(timedelta(minutes=1), NO_SESSION) == 60_000
    for other in (
        "1 month",
        "INTERVAL 1 minute",
        "1.5 seconds",
        "soon",
        "1 minute soon",
        "1minute",
    ):
        with pytest.raises(DurationError, match="is not plain"):
            positive_millis(other, NO_SESSION)
