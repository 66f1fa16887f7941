"""Deduplication: by event time, within the watermark, and of two inputs in one query."""

from __future__ import annotations

from collections.abc import Callable

from support.feeds import Feed, clock
from support.streams import Stepper

from tidemark import with_watermark

SCHEMA = "id LONG, time TIMESTAMP"


def test_deduplication_drops_duplicates_and_late_rows_and_evicts_old_state(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    events = feed("events", SCHEMA)
    marked = with_watermark(events.stream(), "time", "10 minutes")
    stepper = run(marked.dropDuplicates(["id", "time"]))
    events.add({"id": 1, "time": "10:00"}, {"id": 1, "time": "10:00"}, {"id": 2, "time": "10:20"})
    assert stepper.step() == [(1, clock("10:00")), (2, clock("10:20"))]
    assert stepper.state_rows() == 1
    events.add({"id": 3, "time": "10:10"}, {"id": 3, "time": "10:10:01"})
    assert stepper.step() == [(3, clock("10:10:01"))]


def test_drop_duplicates_within_watermark_emits_a_key_again_after_it_expires(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    events = feed("events", SCHEMA)
    marked = with_watermark(events.stream(), "time", "10 minutes")
    stepper = run(marked.dropDuplicatesWithinWatermark(["id"]))
    events.add({"id": 1, "time": "10:00"}, {"id": 1, "time": "10:05"})
    assert [row[0] for row in stepper.step()] == [1]
    events.add({"id": 2, "time": "10:30"})
    assert stepper.step() == [(2, clock("10:30"))]
    # The key expired at 10:10; the watermark is at 10:20.
    events.add({"id": 1, "time": "10:25"})
    assert stepper.step() == [(1, clock("10:25"))]


def test_two_deduplicated_inputs_evict_state_by_their_own_watermarks(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    fast, slow = feed("fast", SCHEMA), feed("slow", SCHEMA)
    parts = [
        with_watermark(feed.stream(), "time", "0 seconds", key=key).dropDuplicates(["id", "time"])
        for key, feed in (("fast", fast), ("slow", slow))
    ]
    stepper = run(parts[0].union(parts[1]))
    slow.add({"id": 0, "time": "10:00"})
    for minute in (10, 20, 30):
        fast.add({"id": minute, "time": f"10:{minute}"})
        stepper.step()
        # The state of a row at the watermark is evicted, so neither input keeps past rows.
        assert stepper.state_rows() == 0
