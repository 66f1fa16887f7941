"""Unions of inputs: an input that is ahead does not wait for an input that is behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from support.feeds import Feed, clock
from support.streams import Stepper

from tidemark import with_watermark

pytestmark = pytest.mark.usefixtures("generated_code")

SCHEMA = "id LONG, time TIMESTAMP"


def counts(df: DataFrame, name: str) -> DataFrame:
    """Rows per ten minutes, labeled with the input they come from."""
    return (
        df.groupBy(F.window("time", "10 minutes"))
        .count()
        .select(F.lit(name).alias("name"), F.col("window.start").alias("start"), "count")
    )


def test_a_slow_input_does_not_hold_back_the_windows_of_a_fast_input(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    fast, slow = feed("fast", SCHEMA), feed("slow", SCHEMA)
    stepper = run(
        counts(with_watermark(fast.stream(), "time", "0 seconds", key="fast"), "fast").unionByName(
            counts(with_watermark(slow.stream(), "time", "0 seconds", key="slow"), "slow")
        )
    )
    slow.add({"id": 0, "time": "10:00"})
    out = []
    for minute in (0, 10, 20, 30):
        fast.add({"id": minute, "time": f"10:{minute:02}"})
        out.append(stepper.step())
        # One open window of each input: the state of the fast input's closed windows is evicted.
        assert stepper.state_rows() == 2
    assert out == [
        [],
        [("fast", clock("10:00"), 1)],
        [("fast", clock("10:10"), 1)],
        [("fast", clock("10:20"), 1)],
    ]

    # The slow input's windows close by its own watermark, and its old rows are not late.
    slow.add({"id": 1, "time": "10:05"}, {"id": 2, "time": "10:11"})
    assert stepper.step() == [("slow", clock("10:00"), 2)]


def test_one_aggregation_over_a_union_waits_for_both_inputs(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    left, right = feed("left", SCHEMA), feed("right", SCHEMA)
    both = with_watermark(left.stream(), "time", "0 seconds", key="left").union(
        with_watermark(right.stream(), "time", "0 seconds", key="right")
    )
    stepper = run(counts(both, "both"))
    left.add({"id": 1, "time": "10:01"}, {"id": 1, "time": "10:30"})
    assert stepper.step() == []
    right.add({"id": 2, "time": "10:02"})
    assert stepper.step() == []
    right.add({"id": 2, "time": "10:15"})
    assert stepper.step() == [("both", clock("10:00"), 2)]


@pytest.mark.more
def test_three_inputs_each_close_their_own_windows(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    feeds = {name: feed(name, SCHEMA) for name in ("a", "b", "c")}
    marked = [
        counts(with_watermark(feed.stream(), "time", "5 minutes", key=name), name)
        for name, feed in feeds.items()
    ]
    stepper = run(marked[0].union(marked[1]).union(marked[2]))
    feeds["a"].add({"id": 1, "time": "10:00"}, {"id": 1, "time": "11:00"})
    feeds["b"].add({"id": 1, "time": "09:00"}, {"id": 1, "time": "09:15"})
    feeds["c"].add({"id": 1, "time": "08:00"}, {"id": 1, "time": "08:14"})
    assert stepper.step() == [("a", clock("10:00"), 1), ("b", clock("09:00"), 1)]
    feeds["c"].add({"id": 1, "time": "08:15"})
    assert stepper.step() == [("c", clock("08:00"), 1)]
