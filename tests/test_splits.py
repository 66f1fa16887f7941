"""Splits and silence, end to end: who holds a watermark, and who is left out of it.

Nothing here is judged by how long it takes. Where the wall clock decides, the idle time is short
and the test waits for what has to come; where it must not, there is no idle time or a very long one.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed, millis
from support.processes import run_script
from support.streams import Row, Stepper

import tidemark
from tidemark import TidemarkError, with_watermark
from tidemark._durations import DurationError, positive_millis
from tidemark._split_names import expected_names

SCHEMA = "device STRING, time TIMESTAMP, n LONG"
SOON = "1 second"

Feeds = Callable[..., Feed]
Run = Callable[..., Stepper]


def reading(device: str | None, time: str, n: int = 0) -> dict[str, Any]:
    return {"device": device, "time": time, "n": n}


def per_ten_minutes(df: DataFrame) -> DataFrame:
    counts = df.groupBy("device", F.window("time", "10 minutes")).count()
    return counts.select("device", F.date_format("window.start", "HH:mm"), "count")


def code_of(df: DataFrame, **options: Any) -> str:
    with pytest.raises(TidemarkError) as caught:
        with_watermark(df, "time", "1 minute", **options)
    return caught.value.code


# Arguments


def test_bad_options_are_refused_in_words(feed: Feeds) -> None:
    df = feed("events", SCHEMA).stream()
    assert code_of(df, split_by="devise") == "UNKNOWN_COLUMN"
    assert code_of(df, split_by="*") == "UNKNOWN_COLUMN"
    assert code_of(df, split_by=["device", "nobody.device"]) == "UNKNOWN_COLUMN"
    assert code_of(df, split_by=[]) == "INVALID_SPLITS"
    assert code_of(df, expected_splits=["a"]) == "INVALID_SPLITS"
    assert code_of(df, split_by="device", expected_splits=[("a", "b")]) == "INVALID_SPLITS"
    assert code_of(df, idle_after="soon") == "INVALID_IDLE_AFTER"
    assert code_of(df, idle_after="-1 minute") == "INVALID_IDLE_AFTER"
    assert code_of(df, max_ahead="0 seconds") == "INVALID_MAX_AHEAD"
    assert code_of(df, on_return="wait") == "INVALID_OPTION"


def test_splits_need_one_column_of_that_name(feed: Feeds) -> None:
    df = feed("events", SCHEMA).stream()
    twice = df.alias("a").crossJoin(df.alias("b"))
    with pytest.raises(TidemarkError, match="Several columns are called 'time'"):
        with_watermark(twice, "a.time", "1 minute", split_by="a.device")


@pytest.mark.parametrize(
    ("text", "found"),
    [("INTERVAL '5' MINUTE", 300_000), ("1.5 seconds", 1_500), ("2 hours -1 minute", 7_140_000)],
)
def test_spark_reads_the_text_that_is_not_plain(spark: SparkSession, text: str, found: int) -> None:
    assert positive_millis(text, spark) == found


@pytest.mark.parametrize(
    "text", ["1 minute 30 seconds", "2 weeks", "1 month", "1 year 1 day", "interval 3 HOURS"]
)
def test_plain_text_means_what_it_means_to_spark(spark: SparkSession, text: str) -> None:
    # A sign is not plain: Spark is asked.
    assert positive_millis(text, spark) == positive_millis(
        f"+0 days {text.lower().removeprefix('interval ')}", spark
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("soon", "no.*interval"),
        ("-1 minute", "negative"),
        ("99999999999 days", "too long|no.*interval"),
    ],
)
def test_spark_says_what_is_wrong_with_a_text(spark: SparkSession, text: str, problem: str) -> None:
    with pytest.raises(DurationError, match=problem):
        positive_millis(text, spark)


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
def test_an_expected_value_is_named_as_spark_casts_it(spark: SparkSession, value: Any) -> None:
    (row,) = spark.range(1).select(F.lit(value).cast("string")).collect()
    assert expected_names([value], width=1) == [[row[0]]]


def test_columns_types_and_values_stay_as_they_are(spark: SparkSession, feed: Feeds) -> None:
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


def test_what_a_watermark_further_up_was_told_is_not_told_to_this_one(
    feed: Feeds, run: Run
) -> None:
    events = feed("events", SCHEMA)
    upper = with_watermark(events.stream(), "time", "0 seconds", key="up", split_by="device")
    stepper = run(with_watermark(upper.withColumnRenamed("time", "later"), "later", "0 seconds"))
    events.add(reading("a", "12:00"), reading("b", "10:00"))
    stepper.step()
    assert stepper.watermarks() == {"up": millis("10:00"), "later": millis("12:00")}
    assert "split_by" not in stepper.origins()["later"]


# Splits


def test_a_split_that_lags_behind_loses_no_rows(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    with_splits = run(
        per_ten_minutes(with_watermark(events.stream(), "time", "0 seconds", split_by="device"))
    )
    as_one = run(
        per_ten_minutes(with_watermark(events.stream(), "time", "0 seconds")), checkpoint="as_one"
    )

    def step(*rows: dict[str, Any]) -> tuple[list[Row], list[Row]]:
        events.add(*rows)
        return with_splits.step(), as_one.step()

    first = [("a", "10:00", 1), ("b", "10:00", 1)]
    assert step(reading("a", "10:00"), reading("b", "10:00")) == ([], [])
    assert step(reading("a", "12:00")) == ([], first)
    assert with_splits.watermarks() == {"time": millis("10:00")}
    assert step(reading("b", "10:05")) == ([], [])
    assert step(reading("b", "10:15")) == ([("a", "10:00", 1), ("b", "10:00", 2)], [])
    assert step(reading("b", "12:00")) == ([("b", "10:10", 1)], [])


@pytest.mark.parametrize(
    "split_by",
    ["device", "DEVICE", "device.id", "`device.id`", "device id", "odd`name", "tags.site"],
)
def test_splits_are_named_by_a_column_or_a_field_whatever_it_is_called(
    feed: Feeds, run: Run, split_by: str
) -> None:
    events = feed("events", SCHEMA)
    device = F.col("device")
    names = ("device", "device.id", "device id", "odd`name")
    df = events.stream().select(
        F.col("time").alias("event.time"),
        *(device.alias(name) for name in names),
        F.struct(device.alias("site")).alias("tags"),
    )
    stepper = run(with_watermark(df, "event.time", "0 seconds", split_by=split_by))
    events.add(reading("a", "12:00"), reading("b", "10:00"))
    stepper.step()
    origin = stepper.origins()["event.time"]
    assert origin["watermark_ms"] == millis("10:00")
    assert {one["name"] for one in origin["splits"]["worst"]} == {"a", "b"}


def test_splits_are_named_by_expressions_one_or_several(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    df = events.stream().alias("e")
    by: dict[str, Any] = {
        "names": ["e.device", "n"],
        "columns": (F.col("device"), F.col("n") + 1),
        "mixed": ["device", F.when(F.col("n") > 0, F.col("n"))],
        "files": F.input_file_name(),
        "hidden": "_metadata.file_path",
    }
    steppers = {
        name: run(with_watermark(df, "time", "0 seconds", key=name, split_by=one), checkpoint=name)
        for name, one in by.items()
    }
    events.add(reading("a", "10:00", 1), reading("a", "11:00", 2), reading("b", "12:00", 1))
    events.add(reading("b", "12:30", 1))
    found = {}
    for name, stepper in steppers.items():
        stepper.step()
        origin = stepper.origins()[name]
        found[name] = (origin["splits"]["total"], origin["watermark_ms"])
    assert found == {
        "names": (3, millis("10:00")),
        "columns": (3, millis("10:00")),
        "mixed": (3, millis("10:00")),
        "files": (2, millis("12:00")),
        "hidden": (2, millis("12:00")),
    }


def test_a_null_names_a_split_like_any_other(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(with_watermark(events.stream(), "time", "0 seconds", split_by="device"))
    events.add(reading("null", "12:00"), reading(None, "10:00"), reading("", "13:00"))
    stepper.step()
    assert stepper.watermarks() == {"time": millis("10:00")}
    assert stepper.origins()["time"]["splits"]["total"] == 3


def test_odd_names_of_splits_are_told_as_they_are_and_shown_on_one_line(
    feed: Feeds, run: Run
) -> None:
    names = ['say "x"', "two\nlines", "x" * 300, "ü, [b]; {c: 1}", "tick`'s"]
    events = feed("events", SCHEMA)
    stepper = run(with_watermark(events.stream(), "time", "0 seconds", split_by="device"))
    events.add(*(reading(name, f"1{place}:00") for place, name in enumerate(names)))
    stepper.step()
    worst = stepper.origins()["time"]["splits"]["worst"]
    assert [one["name"] for one in worst] == names
    text = str(tidemark.report(stepper.query))
    assert r'held back by split "say \"x\""' in text
    assert r'then split "two\nlines"' in text
    assert f'then split "{"x" * 60}"..., clock' in text


@pytest.mark.parametrize(
    ("split_by", "expected"),
    [
        ("device", ["a", "b"]),
        ("n", [1, 2]),
        (["device", "n"], [("a", 1), ("b", 2)]),
        (["n", "missing"], [(1, None), (2, None)]),
    ],
    ids=["text", "numbers", "both", "null"],
)
def test_expected_splits_hold_until_they_are_heard_of(
    feed: Feeds, run: Run, split_by: Any, expected: Any
) -> None:
    events = feed("events", f"{SCHEMA}, missing STRING")
    stepper = run(
        with_watermark(
            events.stream(), "time", "0 seconds", split_by=split_by, expected_splits=expected
        )
    )
    events.add(reading("a", "12:00", 1))
    stepper.step()
    assert stepper.watermarks() == {"time": None}
    splits = stepper.origins()["time"]["splits"]
    assert (splits["total"], splits["without_clock"]) == (2, 1)
    events.add(reading("b", "10:00", 2))
    stepper.step()
    assert stepper.watermarks() == {"time": millis("10:00")}
    assert stepper.origins()["time"]["splits"]["total"] == 2


# Silence


def test_a_silent_split_is_left_out_when_its_time_has_passed(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(
        per_ten_minutes(
            with_watermark(events.stream(), "time", "0 seconds", split_by="device", idle_after=SOON)
        )
    )
    events.add(reading("a", "10:00"), reading("b", "10:00"))
    assert stepper.step() == []
    seconds = 0

    def b_is_out(out: list[Row]) -> bool:
        # The other one goes on speaking.
        nonlocal seconds
        seconds += 1
        events.add(reading("a", f"12:{seconds // 60:02}:{seconds % 60:02}"))
        return ("b", "10:00", 1) in out

    assert ("a", "10:00", 1) in stepper.step_until(b_is_out)
    idle_ones = stepper.origins()["time"]["splits"]["idle_ones"]
    assert "b" in {one["name"] for one in idle_ones}
    assert 'split "b", clock 2024-01-01T10:00:00Z' in str(tidemark.report(stepper.query))


def test_without_an_idle_time_silence_holds(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(with_watermark(events.stream(), "time", "0 seconds", split_by="device"))
    events.add(reading("a", "12:00"), reading("b", "10:00"))
    stepper.step()
    events.add(reading("a", "13:00"))
    stepper.step()
    assert stepper.watermarks() == {"time": millis("10:00")}
    assert stepper.origins()["time"]["splits"]["idle"] == 0
    assert 'held back by split "b", clock 2024-01-01T10:00:00Z, 3 hours behind' in str(
        tidemark.report(stepper.query)
    )


def test_an_expected_split_that_never_speaks_is_left_out_too(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(
        per_ten_minutes(
            with_watermark(
                events.stream(),
                "time",
                "0 seconds",
                split_by="device",
                expected_splits=["a", "b"],
                idle_after=SOON,
            )
        )
    )
    events.add(reading("a", "10:00"), reading("a", "12:00"))
    assert stepper.step_until(len) == [("a", "10:00", 1)]


def test_a_silent_input_does_not_hold_a_union(feed: Feeds, run: Run) -> None:
    loud, silent = feed("loud", SCHEMA), feed("silent", SCHEMA)
    both = with_watermark(loud.stream(), "time", "0 seconds", key="loud").union(
        with_watermark(silent.stream(), "time", "0 seconds", key="silent", idle_after=SOON)
    )
    stepper = run(per_ten_minutes(both))
    silent.add(reading("b", "10:00"))
    loud.add(reading("a", "10:00"), reading("a", "12:00"))
    assert stepper.step_until(lambda out: len(out) == 2) == [("a", "10:00", 1), ("b", "10:00", 1)]
    assert stepper.origins()["silent"]["idle"]


def test_an_idle_input_can_follow_the_wall_clock(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(
        per_ten_minutes(
            with_watermark(
                events.stream(), "time", "0 seconds", idle_after=SOON, when_idle="advance"
            )
        )
    )
    # The window of the last row closes with no row behind it.
    events.add(reading("a", "10:05"))
    assert stepper.step_until(len) == [("a", "10:00", 1)]


def test_a_join_can_follow_its_idle_side(feed: Feeds, run: Run) -> None:
    shown = feed("shown", "ad LONG, shown TIMESTAMP")
    clicked = feed("clicked", "cad LONG, clicked TIMESTAMP")
    joined = with_watermark(shown.stream(), "shown", "0 seconds", key="impressions").join(
        with_watermark(
            clicked.stream(),
            "clicked",
            "0 seconds",
            key="clicks",
            idle_after=SOON,
            join_idle="follow",
        ),
        F.expr("ad = cad AND clicked BETWEEN shown AND shown + INTERVAL 2 MINUTES"),
        "left_outer",
    )
    stepper = run(joined.select("ad", "cad"))
    clicked.add({"cad": 9, "clicked": "10:00"})
    shown.add({"ad": 1, "shown": "10:00"}, {"ad": 2, "shown": "12:00"})
    assert stepper.step_until(len) == [(1, None)]


def test_an_event_time_too_far_ahead_moves_no_watermark(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(with_watermark(events.stream(), "time", "0 seconds", max_ahead="1 day"))
    events.add(reading("a", "10:00"), reading("a", "2100-01-01T00:00:00Z"))
    assert len(stepper.step()) == 2
    assert stepper.watermarks() == {"time": millis("10:00")}
    assert stepper.origins()["time"]["far_ahead_rows"] == 1
    assert "1 row too far ahead of the wall clock" in str(tidemark.report(stepper.query))


# Spark Connect


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = str(tmp_path_factory.mktemp("connect"))
    return run_script("connect_splits.py", folder, SPARK_TESTING="1", TZ="UTC")


def test_on_connect_bad_options_have_the_same_codes(connected: dict[str, Any]) -> None:
    assert connected["codes"] == [
        "UNKNOWN_COLUMN", "INVALID_SPLITS", "INVALID_IDLE_AFTER", "INVALID_IDLE_AFTER",
        "INVALID_MAX_AHEAD", "INVALID_OPTION", None,
    ]  # fmt: skip


def test_on_connect_the_slowest_split_holds(connected: dict[str, Any]) -> None:
    expected, heard = connected["origins"]
    assert expected["watermark_ms"] is None
    assert expected["splits"]["without_clock"] == 1
    assert heard["watermark_ms"] == millis("10:00")
    assert heard["splits"]["total"] == 2
    assert (heard["idle_after_ms"], heard["max_ahead_ms"]) == (3_600_000, 86_400_000)
    assert (heard["on_return"], heard["when_idle"]) == ("catch_up", "advance")
    assert connected["dtypes"][0] == connected["dtypes"][1]
