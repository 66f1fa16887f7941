"""The options of a watermark for splits and idle inputs, and the values that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed, millis
from support.raising import raising
from support.splits import SCHEMA, reading
from support.streams import Stepper

from tidemark import Idle, SplitBy, TidemarkError, with_watermark
from tidemark._watermark.split_names import expected_names
from tidemark.errors import error_code

Feeds = Callable[..., Feed]
Run = Callable[..., Stepper]


def code_of(df: DataFrame, **options: Any) -> str | None:
    with pytest.raises((TidemarkError, IllegalArgumentException)) as caught:
        with_watermark(df, "time", "1 minute", **options)
    return error_code(caught.value)


def test_invalid_split_and_idle_options_are_refused(feed: Feeds) -> None:
    df = feed("events", SCHEMA).stream()
    assert code_of(df, split_by="devise") == "UNKNOWN_COLUMN"
    assert code_of(df, split_by="*") == "UNKNOWN_COLUMN"
    assert code_of(df, split_by=["device", "other.device"]) == "UNKNOWN_COLUMN"
    assert code_of(df, split_by=[]) == "INVALID_SPLITS"
    assert code_of(df, split_by=SplitBy("devise", expected=["a"])) == "UNKNOWN_COLUMN"
    assert code_of(df, idle_after="soon") == "INVALID_OPTION"
    assert code_of(df, idle_after="-1 minute") == "INVALID_OPTION"
    assert code_of(df, idle=Idle("0 seconds")) == "INVALID_OPTION"
    assert code_of(df, idle=Idle("1 hour"), idle_after="1 hour") == "INVALID_OPTION"
    assert code_of(df, max_ahead="0 seconds") == "INVALID_OPTION"
    assert code_of(df, split_by=SplitBy("device", forget_after="1 min")) == "INVALID_OPTION"


def test_an_ambiguous_event_time_column_with_split_by_is_refused(feed: Feeds) -> None:
    df = feed("events", SCHEMA).stream()
    twice = df.alias("a").crossJoin(df.alias("b"))
    with raising("UNKNOWN_COLUMN", column="time"):
        with_watermark(twice, "a.time", "1 minute", split_by="a.device")


def test_a_length_that_spark_cannot_read_is_refused_by_option_and_value(feed: Feeds) -> None:
    with raising("INVALID_OPTION", option="max_ahead", value="5 min"):
        with_watermark(feed("events", SCHEMA).stream(), "time", "1 minute", max_ahead="5 min")


@pytest.mark.classic
def test_short_and_long_option_forms_write_the_same_column_metadata(feed: Feeds) -> None:
    df = feed("events", SCHEMA).stream()

    def options_of(**options: Any) -> dict[str, Any]:
        marked = with_watermark(df, "time", "1 minute", **options)
        node = marked._jdf.queryExecution().analyzed()
        while node.nodeName() != "EventTimeWatermark":
            node = node.children().head()
        metadata: dict[str, Any] = json.loads(node.eventTime().metadata().json())
        # The only part that differs in each call.
        assert ("tidemark.split" in metadata) == ("split_by" in options)
        metadata.pop("tidemark.split", None)
        return metadata

    short = options_of(split_by=["device", "n"], idle_after="1 minute", max_ahead="1 day")
    long = options_of(split_by=SplitBy(["device", "n"]), idle=Idle("1 minute"), max_ahead="1 day")
    assert short == long
    options = {"idleAfter": "1 minute", "maxAhead": "1 day"}
    assert json.loads(short["tidemark.options"]) == options
    assert (
        options_of(split_by=F.col("device"))
        == options_of(split_by=SplitBy("device"))
        == options_of()
    )
    assert json.loads(
        options_of(idle=Idle(when_all="rise", at_join="follow"))["tidemark.options"]
    ) == {
        "whenAll": "rise",
        "atJoin": "follow",
    }


def test_a_split_by_with_columns_equals_only_itself(spark: SparkSession) -> None:
    # Comparing two Columns with == gives a third Column, which is neither true nor false.
    split_by, other = SplitBy(F.col("device")), SplitBy(F.col("device"))
    assert split_by != other
    assert len({split_by, other, split_by}) == 2


@pytest.mark.parametrize(
    "value",
    [
        "a b",
        -3,
        2**40,
        True,
        date(1066, 10, 14),
        datetime(2024, 5, 1, 10, 5, 0, 120_000, timezone.utc),
        datetime(2024, 5, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_an_expected_split_value_matches_sparks_cast_to_string(
    spark: SparkSession, value: Any
) -> None:
    (row,) = spark.range(1).select(F.lit(value).cast("string")).collect()
    assert expected_names([value], width=1) == [[row[0]]]


def test_watermark_options_do_not_change_columns_types_or_values(
    spark: SparkSession, feed: Feeds
) -> None:
    events = feed("events", SCHEMA)
    events.add(reading("a", "10:00"), reading(None, "10:01"))
    options: dict[str, Any] = {
        "split_by": ["device", F.col("n") % 2],
        "idle_after": "1 minute",
        "max_ahead": "1 day",
    }
    for df in (events.stream(), events.table()):
        assert with_watermark(df, "time", "1 minute", **options).dtypes == df.dtypes
    table = events.table()
    marked = with_watermark(table, "time", "1 minute", **options)
    assert sorted(marked.collect(), key=repr) == sorted(table.collect(), key=repr)


def test_a_second_watermark_does_not_inherit_options_from_the_first(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    upper = with_watermark(events.stream(), "time", "0 seconds", key="up", split_by="device")
    stepper = run(with_watermark(upper.withColumnRenamed("time", "later"), "later", "0 seconds"))
    events.add(reading("a", "12:00"), reading("b", "10:00"))
    stepper.step()
    assert stepper.watermarks() == {"up": millis("10:00"), "later": millis("12:00")}
    assert "split_by" not in stepper.inputs()["later"]
