"""`late_rows`: each late row counts once, at the operator that receives it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import Stepper

import tidemark
from tidemark import with_watermark

pytestmark = pytest.mark.usefixtures("generated_code")

SCHEMA = "id LONG, time TIMESTAMP"
Feeds = Callable[..., Feed]
Run = Callable[..., Stepper]


def _counted(feed: Feed, key: str | None = None) -> DataFrame:
    marked = with_watermark(feed.stream(), "time", "0 seconds", key=key)
    return marked.groupBy(F.window("time", "10 minutes")).count()


def test_each_late_row_of_a_window_is_counted_and_the_maximum_lateness_reported(
    feed: Feeds, run: Run
) -> None:
    events = feed("events", SCHEMA)
    stepper = run(_counted(events, key="events"))
    events.add({"id": 1, "time": "12:00"})
    stepper.step()
    (none,) = tidemark.late_rows(stepper.query)
    assert (none.rows, none.most_late) == (0, timedelta(0))
    events.add(*({"id": n, "time": f"10:0{n}"} for n in (1, 2, 3)), {"id": 4, "time": "12:05"})
    stepper.step()
    events.add({"id": 5, "time": "11:58"})
    stepper.step()
    assert tidemark.late_rows(stepper.query) == [
        tidemark.results.LateRows(
            key="events",
            operator="aggregation",
            operator_id=0,
            side=None,
            rows=4,
            most_late=timedelta(minutes=110),
            last_rows=1,
            # The window has ended at 12:00, and so has the batch before: no window was due, so
            # there was no no-data batch at 12:05.
            last_late=timedelta(0),
            last_batch=3,
            held_by=None,
        )
    ]


def test_each_side_of_a_join_has_its_own_late_row_count(feed: Feeds, run: Run) -> None:
    left, right = feed("left", SCHEMA), feed("right", SCHEMA)
    a = with_watermark(left.stream(), "time", "0 seconds", key="a").toDF("a", "ta")
    b = with_watermark(right.stream(), "time", "0 seconds", key="b").toDF("b", "tb")
    stepper = run(a.join(b, F.expr("a = b AND tb BETWEEN ta AND ta + INTERVAL 15 MINUTES")))
    left.add({"id": 1, "time": "12:00"})
    right.add({"id": 1, "time": "11:00"})
    stepper.step()
    left.add({"id": 2, "time": "11:30"}, {"id": 3, "time": "11:50"})
    right.add({"id": 2, "time": "10:00"}, {"id": 3, "time": "11:30"})
    stepper.step()
    found = {
        late.side: (late.key, late.rows, late.most_late)
        for late in tidemark.late_rows(stepper.query)
    }
    assert found == {
        "left": ("a", 2, timedelta(minutes=30)),
        "right": ("b", 1, timedelta(hours=1)),
    }


def test_late_rows_report_the_key_of_the_column_and_the_key_holding_it_back(
    feed: Feeds, run: Run
) -> None:
    left, right = feed("left", SCHEMA), feed("right", SCHEMA)
    a = with_watermark(left.stream(), "time", "0 seconds", key="a").toDF("a", "ta")
    b = with_watermark(right.stream(), "time", "0 seconds", key="b").toDF("b", "tb")
    within = F.expr("a = b AND tb BETWEEN ta - INTERVAL 5 MINUTES AND ta + INTERVAL 5 MINUTES")
    joined = a.join(b, within).groupBy(F.window("ta", "10 minutes")).count()
    either = a.union(b).groupBy(F.window("ta", "10 minutes")).count()
    of_join, of_union = run(joined, checkpoint="joined"), run(either, checkpoint="either")
    for to_left, to_right, holder in (("12:00", "11:00", "b"), ("12:10", "14:00", "a")):
        left.add({"id": 1, "time": to_left})
        right.add({"id": 1, "time": to_right})
        # Behind a union, late rows may come from any of its inputs.
        for stepper, expected in ((of_join, ("a", holder)), (of_union, (None, None))):
            stepper.step()
            (late,) = (
                late for late in tidemark.late_rows(stepper.query) if late.operator == "aggregation"
            )
            assert (late.key, late.held_by) == expected


def test_the_late_row_count_starts_at_zero_after_a_restart(
    feed: Feeds, run: Run, tmp_path: Path
) -> None:
    events = feed("events", SCHEMA)
    first = Stepper(_counted(events), "append", tmp_path / "checkpoint")
    events.add({"id": 1, "time": "12:00"})
    first.step()
    events.add({"id": 2, "time": "10:00"})
    first.step()
    assert [late.rows for late in tidemark.late_rows(first.query)] == [1]
    first.stop()
    restarted = Stepper(_counted(events), "append", tmp_path / "checkpoint")
    events.add({"id": 3, "time": "10:30"}, {"id": 4, "time": "10:31"})
    restarted.step()
    assert [late.rows for late in tidemark.late_rows(restarted.query)] == [2]
    restarted.stop()


def test_a_query_without_a_watermark_has_no_late_rows(feed: Feeds, run: Run) -> None:
    stepper = run(feed("events", SCHEMA).stream())
    assert tidemark.late_rows(stepper.query) == []


def test_late_row_counts_appear_in_the_query_progress(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    stepper = run(_counted(events))
    events.add({"id": 1, "time": "12:00"})
    stepper.step()
    events.add({"id": 2, "time": "10:00"}, {"id": 3, "time": "10:01"})
    stepper.step()
    assert stepper.observed_late() == {"late_rows": 2, "late_rows_0": 2}
