"""Idle splits and inputs, end to end: when a watermark stops waiting for them.

No test here depends on how long something takes. If the wall clock decides, the idle timeout is short and
the test waits for the result. If it must not decide, there is no idle timeout or a very long one.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import functions as F
from support.feeds import Feed, millis
from support.splits import SCHEMA, per_ten_minutes, reading
from support.streams import Row, Stepper

import tidemark
from tidemark import Idle, SplitBy, with_watermark

SOON = "1 second"

Feeds = Callable[..., Feed]
Run = Callable[..., Stepper]


def test_a_silent_split_stops_holding_the_watermark_after_its_idle_timeout(
    feed: Feeds, run: Run
) -> None:
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
        # Split a keeps sending rows.
        nonlocal seconds
        seconds += 1
        events.add(reading("a", f"12:{seconds // 60:02}:{seconds % 60:02}"))
        return ("b", "10:00", 1) in out

    assert ("a", "10:00", 1) in stepper.step_until(b_is_out)
    idle_ones = stepper.inputs()["time"]["splits"]["idle_ones"]
    assert "b" in {split["name"] for split in idle_ones}
    assert 'split "b", clock 2024-01-01T10:00:00Z' in str(tidemark.report(stepper.query))


def test_a_silent_split_holds_the_watermark_without_an_idle_timeout(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(with_watermark(events.stream(), "time", "0 seconds", split_by="device"))
    events.add(reading("a", "12:00"), reading("b", "10:00"))
    stepper.step()
    events.add(reading("a", "13:00"))
    stepper.step()
    assert stepper.watermarks() == {"time": millis("10:00")}
    assert stepper.inputs()["time"]["splits"]["idle"] == 0
    assert 'held back by split "b", clock 2024-01-01T10:00:00Z, 3 hours behind' in str(
        tidemark.report(stepper.query)
    )


def test_an_expected_split_without_rows_becomes_idle(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(
        per_ten_minutes(
            with_watermark(
                events.stream(),
                "time",
                "0 seconds",
                split_by=SplitBy("device", expected=["a", "b"]),
                idle_after=SOON,
            )
        )
    )
    events.add(reading("a", "10:00"))
    seconds = 0

    def something_is_out(out: list[Row]) -> bool:
        # A split becomes idle only while another split sends rows.
        nonlocal seconds
        seconds += 1
        events.add(reading("a", f"12:{seconds // 60:02}:{seconds % 60:02}"))
        return len(out) > 0

    assert stepper.step_until(something_is_out) == [("a", "10:00", 1)]


def test_an_input_without_new_rows_becomes_idle_and_keeps_its_watermark(
    feed: Feeds, run: Run
) -> None:
    events = feed("events", SCHEMA)
    stepper = run(
        with_watermark(events.stream(), "time", "0 seconds", split_by="device", idle_after=SOON)
    )
    events.add(reading("a", "12:00"), reading("b", "10:00"))
    stepper.step_until(lambda _: stepper.inputs()["time"]["idle"])
    assert stepper.watermarks() == {"time": millis("10:00")}
    assert stepper.inputs()["time"]["splits"]["idle"] == 0
    assert "idle as a whole, as no rows arrive: its watermark stops" in str(
        tidemark.report(stepper.query)
    )


def test_an_idle_input_does_not_hold_back_a_union(feed: Feeds, run: Run) -> None:
    loud, silent = feed("loud", SCHEMA), feed("silent", SCHEMA)
    both = with_watermark(loud.stream(), "time", "0 seconds", key="loud").union(
        with_watermark(silent.stream(), "time", "0 seconds", key="silent", idle_after=SOON)
    )
    stepper = run(per_ten_minutes(both))
    silent.add(reading("b", "10:00"))
    loud.add(reading("a", "10:00"), reading("a", "12:00"))
    assert stepper.step_until(lambda out: len(out) == 2) == [("a", "10:00", 1), ("b", "10:00", 1)]
    assert stepper.inputs()["silent"]["idle"]


def test_the_watermark_of_an_idle_input_can_follow_the_wall_clock(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(
        per_ten_minutes(
            with_watermark(
                events.stream(), "time", "0 seconds", idle=Idle(SOON, when_all="advance")
            )
        )
    )
    # The window of the last row closes without any later row.
    events.add(reading("a", "10:05"))
    assert stepper.step_until(len) == [("a", "10:00", 1)]


def test_an_idle_join_side_can_follow_the_active_side(feed: Feeds, run: Run) -> None:
    shown = feed("shown", "ad LONG, shown TIMESTAMP")
    clicked = feed("clicked", "cad LONG, clicked TIMESTAMP")
    joined = with_watermark(shown.stream(), "shown", "0 seconds", key="impressions").join(
        with_watermark(
            clicked.stream(),
            "clicked",
            "0 seconds",
            key="clicks",
            idle=Idle(SOON, at_join="follow"),
        ),
        F.expr("ad = cad AND clicked BETWEEN shown AND shown + INTERVAL 2 MINUTES"),
        "left_outer",
    )
    stepper = run(joined.select("ad", "cad"))
    clicked.add({"cad": 9, "clicked": "10:00"})
    shown.add({"ad": 1, "shown": "10:00"}, {"ad": 2, "shown": "12:00"})
    assert stepper.step_until(len) == [(1, None)]


def test_an_event_time_too_far_ahead_does_not_advance_the_watermark(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(with_watermark(events.stream(), "time", "0 seconds", max_ahead="1 day"))
    events.add(reading("a", "10:00"), reading("a", "2100-01-01T00:00:00Z"))
    assert len(stepper.step()) == 2
    assert stepper.watermarks() == {"time": millis("10:00")}
    assert stepper.inputs()["time"]["far_ahead_rows"] == 1
    assert "1 row too far ahead of the wall clock" in str(tidemark.report(stepper.query))
