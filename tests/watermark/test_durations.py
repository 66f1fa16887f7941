"""Lengths of time as users give them: what the engine is sent, and what Python reads itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from tidemark import TidemarkError
from tidemark._watermark.durations import (
    interval_text,
    length_millis,
    length_text,
    plain_millis,
)

DAY = 86_400_000


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


@pytest.mark.parametrize("value", ["", " ", timedelta(microseconds=-1), 60, None])
def test_what_is_not_a_length_is_refused_before_the_engine_reads_it(value: object) -> None:
    with pytest.raises(TidemarkError) as caught:
        length_text("idle_after", value)
    assert caught.value.code == "INVALID_OPTION"
    assert caught.value.parameters["option"] == "idle_after"
    assert caught.value.parameters["value"] == str(value)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("1 minute 30 seconds", 90_000),
        (" 2 Hours  30 seconds", 7_230_000),
        ("2 weeks", 14 * DAY),
        ("1 month", 31 * DAY),
        ("1 year 1 day", 373 * DAY),
        ("  Interval  1 DAY\t2 Hours\n", DAY + 7_200_000),
        ("1.5 seconds", 1_500),
        ("-1.5 seconds 3 seconds", 1_500),
        ("2 hours -1 minute", 7_140_000),
        ("+1 second 1 second", 2_000),
        ("200 milliseconds 999 microseconds", 200),
        ("1999 microseconds", 1),
        (timedelta(days=1, seconds=2, milliseconds=3), DAY + 2_003),
        (timedelta(weeks=5000), 5000 * 7 * DAY),
        (timedelta(milliseconds=1, microseconds=999), 1),
    ],
)
def test_a_length_that_python_needs_is_read_without_spark(
    value: str | timedelta, found: int
) -> None:
    assert length_millis("timeout", value) == found


@pytest.mark.parametrize(
    "value",
    ["soon", "10", "5 min", "1minute", "1 minute soon", "1.5 minutes", "interval", "-1 minute",
     "0 seconds", "999 microseconds", "99999999999 days", timedelta(0), timedelta.max],
)  # fmt: skip
def test_what_python_cannot_read_as_a_length_is_refused(value: str | timedelta) -> None:
    with pytest.raises(TidemarkError) as caught:
        length_millis("timeout", value)
    assert caught.value.code == "INVALID_OPTION"


def test_python_reads_a_length_as_spark_reads_a_delay(spark: SparkSession) -> None:
    texts = ["1 month", "1 year 1 day", "  Interval 1 DAY\t2 Hours\n", "1.5 seconds"]
    for text in (*texts, "-1.5 seconds 3 seconds", "1999 microseconds", "2 hours -1 minute"):
        times = spark.readStream.format("rate").load().withWatermark("timestamp", text)
        delay = times.schema["timestamp"].metadata["spark.watermarkDelayMs"]
        assert plain_millis(text) == delay, text
