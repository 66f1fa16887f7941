"""Splits, end to end: which split holds a watermark, on classic Spark and on Spark Connect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import functions as F
from support.feeds import Feed, millis
from support.processes import run_script
from support.splits import SCHEMA, per_ten_minutes, reading
from support.streams import Row, Stepper

import tidemark
from tidemark import SplitBy, with_watermark

pytestmark = pytest.mark.usefixtures("generated_code")

Feeds = Callable[..., Feed]
Run = Callable[..., Stepper]


def test_a_lagging_split_loses_no_rows(feed: Feeds, run: Run) -> None:
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
def test_split_by_accepts_columns_and_fields_with_any_name(
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
    origin = stepper.inputs()["event.time"]
    assert origin["watermark_ms"] == millis("10:00")
    assert {split["name"] for split in origin["splits"]["worst"]} == {"a", "b"}


def test_split_by_accepts_one_or_several_expressions(feed: Feeds, run: Run) -> None:
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
        name: run(
            with_watermark(df, "time", "0 seconds", key=name, split_by=expressions), checkpoint=name
        )
        for name, expressions in by.items()
    }
    events.add(reading("a", "10:00", 1), reading("a", "11:00", 2), reading("b", "12:00", 1))
    events.add(reading("b", "12:30", 1))
    found = {}
    for name, stepper in steppers.items():
        stepper.step()
        origin = stepper.inputs()[name]
        found[name] = (origin["splits"]["total"], origin["watermark_ms"])
    assert found == {
        "names": (3, millis("10:00")),
        "columns": (3, millis("10:00")),
        "mixed": (3, millis("10:00")),
        "files": (2, millis("12:00")),
        "hidden": (2, millis("12:00")),
    }


def test_a_null_value_forms_its_own_split(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(with_watermark(events.stream(), "time", "0 seconds", split_by="device"))
    events.add(reading("null", "12:00"), reading(None, "10:00"), reading("", "13:00"))
    stepper.step()
    assert stepper.watermarks() == {"time": millis("10:00")}
    assert stepper.inputs()["time"]["splits"]["total"] == 3


def test_unusual_split_names_are_reported_exactly_and_shown_on_one_line(
    feed: Feeds, run: Run
) -> None:
    names = ['say "x"', "two\nlines", "x" * 300, "ü, [b]; {c: 1}", "tick`'s"]
    events = feed("events", SCHEMA)
    stepper = run(with_watermark(events.stream(), "time", "0 seconds", split_by="device"))
    events.add(*(reading(name, f"1{place}:00") for place, name in enumerate(names)))
    stepper.step()
    worst = stepper.inputs()["time"]["splits"]["worst"]
    assert [split["name"] for split in worst] == names
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
def test_expected_splits_hold_the_watermark_until_their_first_row(
    feed: Feeds, run: Run, split_by: Any, expected: Any
) -> None:
    events = feed("events", f"{SCHEMA}, missing STRING")
    stepper = run(
        with_watermark(
            events.stream(), "time", "0 seconds", split_by=SplitBy(split_by, expected=expected)
        )
    )
    events.add(reading("a", "12:00", 1))
    stepper.step()
    assert stepper.watermarks() == {"time": None}
    splits = stepper.inputs()["time"]["splits"]
    assert (splits["total"], splits["without_clock"]) == (2, 1)
    events.add(reading("b", "10:00", 2))
    stepper.step()
    assert stepper.watermarks() == {"time": millis("10:00")}
    assert stepper.inputs()["time"]["splits"]["total"] == 2


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = str(tmp_path_factory.mktemp("connect"))
    return run_script("connect_splits.py", folder, SPARK_TESTING="1")


@pytest.mark.more
def test_invalid_split_options_raise_the_same_error_codes_on_spark_connect(
    connected: dict[str, Any],
) -> None:
    assert connected["codes"] == [
        "UNKNOWN_COLUMN", "INVALID_SPLITS", *["INVALID_OPTION"] * 4, None,
    ]  # fmt: skip


@pytest.mark.more
def test_the_slowest_split_holds_the_watermark_on_spark_connect(connected: dict[str, Any]) -> None:
    expected, observed = connected["inputs"]
    assert expected["watermark_ms"] is None
    assert expected["splits"]["without_clock"] == 1
    assert observed["watermark_ms"] == millis("10:00")
    assert observed["splits"]["total"] == 2
    assert (observed["idle_after_ms"], observed["max_ahead_ms"]) == (3_600_000, 86_400_000)
    assert (observed["on_return"], observed["when_all"]) == ("catch_up", "advance")
    assert connected["dtypes"][0] == connected["dtypes"][1]


@pytest.mark.more
def test_the_log_can_be_read_after_the_query_ends_on_spark_connect(
    connected: dict[str, Any],
) -> None:
    # Split b has no rows yet in the first batch.
    assert connected["log"] == [
        ["readings", "[a, A]", "[b, B]"],
        ["readings", "[b, B]", "[b, B]"],
    ]
