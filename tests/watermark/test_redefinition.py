"""A second watermark later in a query: after a window, a join, or a union."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import functions as F
from support.feeds import Feed, clock
from support.streams import Stepper

from tidemark import with_watermark

SCHEMA = "id LONG, time TIMESTAMP"


def test_a_watermark_can_be_redefined_after_a_window_aggregation(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    events = feed("events", SCHEMA)
    per_ten_minutes = (
        with_watermark(events.stream(), "time", "0 seconds", key="events")
        .groupBy(F.window("time", "10 minutes"))
        .count()
        .select(F.col("window.start").alias("start"), "count")
    )
    per_hour = (
        with_watermark(per_ten_minutes, "start", "0 seconds", key="starts")
        .groupBy(F.window("start", "1 hour"))
        .agg(F.sum("count"))
        .select("window.start", "sum(count)")
    )
    stepper = run(per_hour)
    events.add({"id": 1, "time": "10:05"}, {"id": 2, "time": "10:55"})
    assert stepper.step() == []
    events.add({"id": 3, "time": "11:05"})
    assert stepper.step() == []
    # At 11:15 the window that starts at 11:00 is emitted, which closes the hour before it.
    events.add({"id": 4, "time": "11:15"})
    assert stepper.step() == [(clock("10:00"), 2)]


def test_a_watermark_can_be_redefined_after_a_join(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    left, right = feed("left", SCHEMA), feed("right", "rid LONG, rtime TIMESTAMP")
    joined = with_watermark(left.stream(), "time", "0 seconds", key="left").join(
        with_watermark(right.stream(), "rtime", "0 seconds", key="right"),
        F.expr("id = rid AND rtime BETWEEN time AND time + INTERVAL 5 MINUTES"),
    )
    seen = joined.select(F.greatest("time", "rtime").alias("seen"))
    counted = (
        with_watermark(seen, "seen", "0 seconds", key="seen")
        .groupBy(F.window("seen", "10 minutes"))
        .count()
        .select("window.start", "count")
    )
    stepper = run(counted)
    left.add({"id": 1, "time": "10:01"})
    right.add({"rid": 1, "rtime": "10:02"})
    assert stepper.step() == []
    left.add({"id": 2, "time": "10:10"})
    right.add({"rid": 2, "rtime": "10:12"})
    assert stepper.step() == [(clock("10:00"), 1)]


def test_a_watermark_can_be_redefined_after_a_union(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    first, second = feed("one", SCHEMA), feed("two", SCHEMA)
    both = with_watermark(first.stream(), "time", "1 hour", key="one").union(
        with_watermark(second.stream(), "time", "1 hour", key="two")
    )
    counted = (
        with_watermark(both, "time", "0 seconds", key="both")
        .groupBy(F.window("time", "10 minutes"))
        .count()
        .select("window.start", "count")
    )
    stepper = run(counted)
    first.add({"id": 1, "time": "10:01"})
    assert stepper.step() == []
    # The new watermark follows the rows of both inputs and replaces the two earlier watermarks.
    second.add({"id": 2, "time": "10:11"})
    assert stepper.step() == [(clock("10:00"), 1)]
