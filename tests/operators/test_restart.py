"""A restarted query continues with exactly the watermarks it would have without the restart."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed, clock
from support.streams import Row, Stepper, run_once, stock

from tidemark import with_watermark

pytestmark = pytest.mark.usefixtures("one_partition")

SCHEMA = "id LONG, time TIMESTAMP"


def per_hour_of(feeds: dict[str, Feed]) -> DataFrame:
    parts = [
        with_watermark(feed.stream(), "time", "10 minutes", key=name).withColumn(
            "name", F.lit(name)
        )
        for name, feed in feeds.items()
    ]
    both = parts[0]
    for part in parts[1:]:
        both = both.union(part)
    counted = both.groupBy(F.window("time", "1 hour"), "name").count()
    return counted.select("name", "window.start", "count")


@pytest.mark.more
def test_restarts_keep_the_watermark_of_an_input_without_new_rows(
    feed: Callable[..., Feed], tmp_path: Path
) -> None:
    # Stock Spark keeps only the global watermark and emits nothing in these six runs.
    feeds = {name: feed(name, SCHEMA) for name in ("a", "b", "c")}
    out: list[Row] = []
    for hour in range(6):
        silent = "abc"[hour % 3]
        for name, source in feeds.items():
            if name != silent:
                source.add({"id": hour, "time": f"{hour:02}:30"})
        out += run_once(per_hour_of(feeds), tmp_path / "checkpoint")
    # The last row of c is at 04:30, so all three watermarks have reached 04:20: hours 0 to 3 are closed, with
    # two inputs each. Four windows are open: two of hour 4 and two of hour 5.
    assert sorted(out) == sorted(
        (name, clock(f"{hour:02}:00"), 1)
        for hour in range(4)
        for name in "abc"
        if name != "abc"[hour % 3]
    )


def test_restarts_between_steps_do_not_change_the_results(
    feed: Callable[..., Feed], run: Callable[..., Stepper], tmp_path: Path
) -> None:
    steps: list[tuple[str, str]] = [
        ("fast", "10:00"), ("slow", "09:00"), ("fast", "11:30"), ("slow", "09:40"),
        ("fast", "12:30"), ("slow", "11:20"), ("slow", "10:05"), ("slow", "12:30"),
    ]  # fmt: skip

    def dashboards(feeds: dict[str, Feed]) -> DataFrame:
        parts = [
            with_watermark(feed.stream(), "time", "10 minutes", key=name)
            .groupBy(F.window("time", "1 hour"))
            .count()
            .select(F.lit(name).alias("name"), "window.start", "count")
            for name, feed in feeds.items()
        ]
        return parts[0].union(parts[1])

    whole = {name: feed(f"whole/{name}", SCHEMA) for name in ("fast", "slow")}
    stepper = run(dashboards(whole), checkpoint="whole.cp")
    parted = {name: feed(f"parted/{name}", SCHEMA) for name in ("fast", "slow")}
    for number, (name, time) in enumerate(steps):
        whole[name].add({"id": number, "time": time})
        parted[name].add({"id": number, "time": time})
        assert run_once(dashboards(parted), tmp_path / "parted.cp") == stepper.step(), (name, time)


@pytest.mark.more
def test_a_restart_keeps_the_watermarks_of_both_join_sides(
    feed: Callable[..., Feed], tmp_path: Path
) -> None:
    left, right = feed("left", SCHEMA), feed("right", "rid LONG, rtime TIMESTAMP")

    def joined() -> DataFrame:
        return with_watermark(left.stream(), "time", "0 seconds", key="left").join(
            with_watermark(right.stream(), "rtime", "0 seconds", key="right"),
            F.expr("id = rid AND rtime BETWEEN time AND time + INTERVAL 2 MINUTES"),
            "left_outer",
        )

    left.add({"id": 1, "time": "10:00"}, {"id": 2, "time": "10:20"})
    right.add({"rid": 9, "rtime": "10:01"})
    assert run_once(joined(), tmp_path / "cp") == []
    # In this run the left input has no new rows: its watermark comes from the checkpoint.
    right.add({"rid": 1, "rtime": "10:02"}, {"rid": 9, "rtime": "10:10"})
    assert run_once(joined(), tmp_path / "cp") == [(1, clock("10:00"), 1, clock("10:02"))]
    right.add({"rid": 9, "rtime": "10:30"})
    assert run_once(joined(), tmp_path / "cp") == [(2, clock("10:20"), None, None)]


def test_a_query_can_switch_between_stock_spark_and_tidemark_at_a_restart(
    feed: Callable[..., Feed], tmp_path: Path, spark: SparkSession
) -> None:
    events = feed("events", SCHEMA)

    def run(enabled: bool) -> list[Row]:
        with nullcontext() if enabled else stock(spark):
            counted = (
                events.stream()
                .withWatermark("time", "0 seconds")
                .groupBy(F.window("time", "1 hour"))
                .count()
                .select("window.start", "count")
            )
            return run_once(counted, tmp_path / "cp")

    out = []
    for hour, enabled in enumerate([False, True, False, False, True]):
        # The late row shows that the watermark was carried over.
        events.add({"id": hour, "time": f"{hour:02}:30"}, {"id": 0, "time": "00:00"})
        out.append(run(enabled))
    assert out == [
        [],
        [(clock("00:00"), 3)],
        *[[(clock(f"{hour:02}:00"), 1)] for hour in (1, 2, 3)],
    ]
