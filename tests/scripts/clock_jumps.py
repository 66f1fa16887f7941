"""Queries with idle times whose wall clock jumps, while they run and between their runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from support.feeds import Feed
from support.processes import result
from support.splits import SCHEMA, per_ten_minutes, reading
from support.streams import Stepper
from support.wall_clock import move_clock

import tidemark

HOUR = 3600
folder = Path(sys.argv[1])
builder = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.streaming.pollingDelay", "10ms")
    .config("spark.sql.codegen.wholeStage", "false")
    # Spark itself takes an executor for dead that has been silent for so long by the wall clock.
    .config("spark.network.timeout", "1000000s")
    .config("spark.storage.blockManagerHeartbeatTimeoutMs", "1000000s")
)
spark = tidemark.configure(builder).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")

# Device b is behind a, and is silent for a step.
STEPS = [
    [("a", "10:00"), ("b", "10:00")],
    [("a", "10:20"), ("b", "10:15")],
    [("a", "10:40")],
    [("a", "10:41"), ("b", "10:25")],
    [("a", "12:00"), ("b", "12:00")],
    [("a", "12:30"), ("b", "12:30")],
]


class Run(Stepper):
    """A query on two devices that leaves out one that is silent for five minutes."""

    def __init__(self, name: str, **options: Any) -> None:
        self.feed = Feed(spark, folder / name, SCHEMA)
        idle = tidemark.Idle(after="5 minutes", **options)
        marked = tidemark.with_watermark(
            self.feed.stream(), "time", "0 seconds", key="k", split_by="device", idle=idle
        )
        super().__init__(per_ten_minutes(marked), "append", folder / f"{name}.cp")

    def add(self, rows: list[tuple[str, str]]) -> None:
        self.feed.add(*(reading(device, at) for device, at in rows))

    def late(self) -> int:
        return sum(late.rows for late in tidemark.late_rows(self.query))


def outcome(
    name: str,
    jump: int = 0,
    at: int = 0,
    *,
    between_runs: bool = False,
    back_after: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """The rows of all steps and how many were late, with a jump of the clock before a step."""
    rows, late = [], 0
    run = Run(name, **options)
    for number, step in enumerate(STEPS):
        if number == at and jump:
            if between_runs:
                late += run.late()
                run.stop()
                move_clock(jump)
                run = Run(name, **options)
            else:
                move_clock(jump)
            # Triggers that find nothing.
            rows += run.step()
            rows += run.step()
            if back_after:
                move_clock(-jump)
                rows += run.step()
        run.add(step)
        rows += run.step()
    late += run.late()
    run.stop()
    return {"rows": sorted(map(str, rows)), "late": late}


def steps_until_left_out(name: str, jump: int) -> int:
    """Rows of one device come every ten minutes after a jump. After how many is the silent device left out?"""
    run = Run(name)
    run.add(STEPS[0])
    run.step()
    move_clock(jump)
    for step in range(1, 20):
        move_clock(600)
        run.add([("a", f"{10 + step // 6}:{step % 6}5")])
        if ("b", "10:00", 1) in run.step():
            run.stop()
            return step
    run.stop()
    return -1


def with_a_pause_that_rises(name: str, jump: int) -> dict[str, Any]:
    """In a pause the watermark follows the clock, which jumps to and fro. Afterwards rows come by the true time."""
    feed = Feed(spark, folder / name, SCHEMA)
    idle = tidemark.Idle(after="5 minutes", when_all="advance")
    marked = tidemark.with_watermark(feed.stream(), "time", "1 minute", key="k", idle=idle)
    stepper = Stepper(per_ten_minutes(marked), "append", folder / f"{name}.cp")
    now = datetime.now(timezone.utc)

    def add(minutes: int) -> None:
        at = now + timedelta(minutes=minutes)
        feed.add({"device": "a", "time": at.strftime("%Y-%m-%dT%H:%M:%SZ")})

    add(0)
    rows = len(stepper.step())
    move_clock(jump)
    rows += len(stepper.step_until(lambda _: True))
    move_clock(-jump)
    found = []
    for minutes in (1, 30, 59, 75, 90, 120):
        add(minutes)
        rows += len(stepper.step())
        found.append(sum(late.rows for late in tidemark.late_rows(stepper.query)))
    stepper.stop()
    return {"rows": rows, "late": found, "active": stepper.query.exception() is None}


def too_far_ahead(name: str, jump: int) -> dict[str, Any]:
    """Rows come by the true time while the clock is an hour back; the last one is too far ahead of it anyway."""
    feed = Feed(spark, folder / name, SCHEMA)
    marked = tidemark.with_watermark(
        feed.stream(), "time", "1 minute", key="k", max_ahead="10 minutes"
    )
    stepper = Stepper(per_ten_minutes(marked), "append", folder / f"{name}.cp")
    now = datetime.now(timezone.utc)
    # The begin of a window, so that the same windows end at any time of the day.
    begin = now.replace(minute=now.minute // 10 * 10, second=0, microsecond=0)

    def add(minutes: int) -> int:
        at = begin + timedelta(minutes=minutes)
        feed.add({"device": "a", "time": at.strftime("%Y-%m-%dT%H:%M:%SZ")})
        return len(stepper.step())

    rows = add(-120)
    move_clock(jump)
    for minutes in (-30, -20, -10):
        rows += add(minutes)
    move_clock(-jump)
    for minutes in (-5, 0, 5, 30):
        rows += add(minutes)
    ahead = stepper.inputs()["k"]["far_ahead_rows"]
    late = sum(late.rows for late in tidemark.late_rows(stepper.query))
    stepper.stop()
    return {"rows": rows, "late": late, "far_ahead": ahead}


def jumping_in_a_batch(name: str, jump: int, at: int) -> dict[str, Any]:
    """The clock jumps while a batch runs."""
    feed = Feed(spark, folder / name, SCHEMA)
    marked = tidemark.with_watermark(
        feed.stream(), "time", "0 seconds", key="k", split_by="device", idle_after="5 minutes"
    )
    rows: list[str] = []
    to_do: list[int] = []

    def take(df: DataFrame, _: int) -> None:
        rows.extend(str(tuple(row)) for row in df.collect())
        if to_do:
            move_clock(to_do.pop())

    writer = per_ten_minutes(marked).writeStream.foreachBatch(take)
    query = writer.option("checkpointLocation", str(folder / f"{name}.cp")).start()
    for number, step in enumerate(STEPS):
        to_do[:] = [jump] if number == at else []
        feed.add(*(reading(device, time_) for device, time_ in step))
        query.processAllAvailable()
    late = sum(late.rows for late in tidemark.late_rows(query))
    query.stop()
    return {"rows": sorted(rows), "late": late}


timed: dict[str, float] = {}


def measured(name: str, action: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    start = time.monotonic()
    found = action(name.replace(" ", "-"), *arguments, **options)
    timed[name] = round(time.monotonic() - start, 1)
    return found


before = time.time()
move_clock(HOUR)
moved = time.time() - before
jvm = spark._jvm
assert jvm is not None
apart = time.time() - jvm.System.currentTimeMillis() / 1000
found: dict[str, Any] = {"straight": measured("straight", outcome)}
for when in (2, 3, 4):
    for direction, seconds in (("forward", HOUR), ("back", -HOUR)):
        for between in (False, True):
            name = f"{direction} {'between runs' if between else 'running'} {when}"
            found[name] = measured(name, outcome, seconds, when, between_runs=between)
found["to and fro"] = measured("to and fro", outcome, HOUR, 3, back_after=True)
found["fro and to"] = measured("fro and to", outcome, -HOUR, 3, back_after=True)
found["rise"] = measured("rise", outcome, HOUR, 3, when_all="rise")
found["in a batch"] = measured("in a batch", jumping_in_a_batch, HOUR, 1)
found["back in a batch"] = measured("back in a batch", jumping_in_a_batch, -HOUR, 1)
found["in a batch of one device"] = measured("in batch of one", jumping_in_a_batch, HOUR, 2)
result(
    moved=moved,
    apart=apart,
    outcomes=found,
    left_out={
        name: measured(f"left out {name}", steps_until_left_out, seconds)
        for name, seconds in (("straight", 0), ("forward", HOUR), ("back", -HOUR))
    },
    rises={
        name: measured(f"rises {name}", with_a_pause_that_rises, seconds)
        for name, seconds in (("forward", HOUR), ("back", -HOUR))
    },
    ahead={
        name: measured(f"ahead {name}", too_far_ahead, seconds)
        for name, seconds in (("straight", 0), ("back", -HOUR))
    },
    timed=timed,
)
spark.stop()
