"""`with_watermark`: the arguments it accepts, the metadata it adds, and the errors it raises."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.raising import raising

import tidemark
from common.settings import with_settings
from tidemark import TidemarkError, with_watermark

DELAY = "spark.watermarkDelayMs"
KEY = "tidemark.key"


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """A stream with every kind of column that these tests need."""
    ts = F.col("timestamp")
    return (
        spark.readStream.format("rate")
        .load()
        .select(
            F.col("value").alias("id"),
            ts.alias("time"),
            ts.alias("event.time"),
            ts.alias("event time"),
            ts.alias("odd`name"),
            ts.cast("timestamp_ntz").alias("local_time"),
            ts.cast("date").alias("day"),
            F.struct(ts.alias("start"), F.lit(1).alias("n")).alias("span"),
            F.window(ts, "1 hour").alias("window"),
            ts.alias("noted", metadata={"unit": "s"}),
        )
    )


def marked(df: DataFrame) -> dict[str, object]:
    return {f.name: f.metadata[DELAY] for f in df.schema.fields if DELAY in f.metadata}


def keys(df: DataFrame) -> dict[str, object]:
    """The key of the newest watermark, from the plan: a schema must not have it, as tables would store it."""
    assert not any(KEY in field.metadata for field in df.schema.fields)
    node = df._jdf.queryExecution().analyzed()  # type: ignore[operator]
    while node.nodeName() != "EventTimeWatermark":
        node = node.children().head()
    column = node.eventTime()
    metadata = json.loads(column.metadata().json())
    return {column.name(): metadata[KEY]} if KEY in metadata else {}


def code_of(df: DataFrame, column: str, delay: str | timedelta = "1 minute") -> str:
    with pytest.raises(TidemarkError) as caught:
        with_watermark(df, column, delay)
    return caught.value.code


@pytest.mark.parametrize(
    ("column", "found"),
    [
        ("time", "time"),
        ("TIME", "time"),
        ("event.time", "event.time"),
        ("`event.time`", "event.time"),
        ("event time", "event time"),
        ("odd`name", "odd`name"),
        ("`odd``name`", "odd`name"),
        ("window", "window"),
    ],
)
def test_a_column_is_found_by_its_name_with_or_without_backticks(
    events: DataFrame, column: str, found: str
) -> None:
    assert marked(with_watermark(events, column, "1 minute")) == {found: 60_000}
    with_key = with_watermark(events, column, "1 minute", key="k")
    assert (marked(with_key), keys(with_key)) == ({found: 60_000}, {found: "k"})


def test_a_column_of_an_aliased_dataframe_is_found(events: DataFrame) -> None:
    aliased = events.alias("e")
    assert marked(with_watermark(aliased, "e.time", "1 minute")) == {"time": 60_000}
    assert keys(with_watermark(aliased, "e.time", "1 minute", key="k")) == {"time": "k"}


@pytest.mark.parametrize(
    ("delay", "millis"),
    [
        ("10 minutes", 600_000),
        ("interval 1 hour 30 minutes", 5_400_000),
        ("INTERVAL '5' MINUTE", 300_000),
        ("0 seconds", 0),
        ("1 month", 31 * 86_400_000),
        (timedelta(0), 0),
        (timedelta(days=1, seconds=2, milliseconds=3), 86_402_003),
        (timedelta(weeks=5000), 5000 * 7 * 86_400_000),
    ],
)
def test_the_delay_can_be_text_or_a_timedelta(
    events: DataFrame, delay: str | timedelta, millis: int
) -> None:
    assert marked(with_watermark(events, "time", delay)) == {"time": millis}


def test_a_watermark_without_a_key_adds_only_the_delay_to_the_metadata(events: DataFrame) -> None:
    df = with_watermark(events, "noted", "1 minute")
    assert df.schema["noted"].metadata == {"unit": "s", DELAY: 60_000}
    assert df.columns == events.columns


def test_a_key_does_not_replace_existing_column_metadata(events: DataFrame) -> None:
    df = with_watermark(events, "noted", "1 minute", key="k")
    assert df.schema["noted"].metadata == {"unit": "s", DELAY: 60_000}
    assert keys(df) == {"noted": "k"}
    assert df.columns == events.columns


def test_an_unknown_column_is_refused(events: DataFrame) -> None:
    with raising("UNKNOWN_COLUMN", column="tmie"):
        with_watermark(events, "tmie", "1 minute")
    assert code_of(events, "other.time") == "UNKNOWN_COLUMN"


def test_a_column_of_another_data_frame_is_refused(spark: SparkSession, events: DataFrame) -> None:
    assert marked(with_watermark(events, events["time"], "1 minute")) == {"time": 60_000}
    other = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "time")
    for column in (other["time"], other.time):
        with raising("UNKNOWN_COLUMN", column="time"):
            with_watermark(events, column, "1 minute")


def test_a_nested_column_is_refused(events: DataFrame) -> None:
    with raising("NESTED_COLUMN", column="span.start", parent="span"):
        with_watermark(events, "span.start", "1 minute")
    assert code_of(events, "window.end") == "NESTED_COLUMN"


@pytest.mark.parametrize("column", ["id", "day", "span", "local_time"])
def test_a_column_that_is_not_a_timestamp_is_refused(events: DataFrame, column: str) -> None:
    assert code_of(events, column) == "COLUMN_NOT_TIMESTAMP"


@pytest.mark.parametrize(
    "delay",
    ["-1 minute", "1 minute -2 minutes", timedelta(microseconds=-1), "soon", "10", "", " ",
     "999999999 days"],
)  # fmt: skip
def test_an_invalid_delay_is_refused(events: DataFrame, delay: str | timedelta) -> None:
    assert code_of(events, "time", delay) == "INVALID_DELAY"


def test_column_names_are_case_sensitive_if_the_session_is(
    spark: SparkSession, events: DataFrame
) -> None:
    with with_settings(spark, {"spark.sql.caseSensitive": "true"}):
        assert code_of(events, "TIME") == "UNKNOWN_COLUMN"


def test_a_key_on_an_ambiguous_column_name_is_refused(events: DataFrame) -> None:
    twice = events.alias("a").crossJoin(events.alias("b"))
    with raising("UNKNOWN_COLUMN", column="time"):
        with_watermark(twice, "a.time", "1 minute", key="k")


def test_spark_errors_are_raised_unchanged(events: DataFrame) -> None:
    twice = events.alias("a").crossJoin(events.alias("b"))
    with pytest.raises(Exception, match="AMBIGUOUS_REFERENCE"):
        with_watermark(twice, "time", "1 minute")


def test_a_batch_dataframe_is_checked_and_passed_through(spark: SparkSession) -> None:
    batch = spark.sql("SELECT timestamp'2024-01-01 00:00:00' AS time")
    assert with_watermark(batch, "time", "1 minute", key="k").count() == 1
    assert code_of(batch, "nope") == "UNKNOWN_COLUMN"


def test_the_session_is_checked_for_the_engine_only_once(
    events: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_watermark(events, "time", "1 minute")
    monkeypatch.setattr(tidemark._bridge, "tidemark_version", lambda _: pytest.fail("asked again"))
    with_watermark(events, "time", "1 minute")


def test_a_second_watermark_does_not_inherit_the_key_of_the_first(events: DataFrame) -> None:
    upstream = with_watermark(events, "time", "1 minute", key="up")
    renamed = upstream.withColumnRenamed("time", "later")
    assert keys(with_watermark(renamed, "later", "2 minutes")) == {}
    assert keys(with_watermark(renamed, "later", "2 minutes", key="down")) == {"later": "down"}
