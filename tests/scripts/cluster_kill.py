"""A join followed by an aggregation, on a cluster whose executors are killed in the middle of a task.

Either a task that reads input kills its own executor, or a task after the shuffle kills all executors: then the
shuffle files are gone, and the stage that wrote them runs again.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from support.cluster import on_a_cluster
from support.feeds import Feed
from support.processes import result
from support.streams import Stepper

import tidemark

SCHEMA = "id LONG, time TIMESTAMP"
STEPS = 4

folder = Path(sys.argv[1])
spark = on_a_cluster(folder)


def executor() -> int:
    """The process ID of the executor that runs this Python worker's task."""
    # The worker's parent is Python's daemon, and the daemon's parent is the executor.
    daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
    return int(daemon.rpartition(")")[2].split()[1])


def executors(application: str) -> list[int]:
    """The process IDs of all executors of an application, with this task's executor last."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (process / "cmdline").read_bytes().decode(errors="replace")
            if "CoarseGrainedExecutorBackend" in command and application in command:
                found.append(int(process.name))
    own = executor()
    return sorted(found, key=lambda pid: pid == own)


def mortal(column: F.Column, deed: Path, victim: int, *, everyone: bool) -> F.Column:
    """The unchanged column; the first task that sees the number `victim` kills its executor, or all executors."""
    application = spark.sparkContext.applicationId

    @F.udf("long")
    def killing(number: int) -> int:
        if number == victim and not deed.exists():
            deed.touch()
            for process in executors(application) if everyone else [executor()]:
                os.kill(process, signal.SIGKILL)
        return number

    return killing(column)


class Found(NamedTuple):
    """The outcome of a query in several steps."""

    rows: list[list[str]]
    late: list[tuple[str, int]]
    """Late rows of each side."""
    died: bool
    """Whether an executor was killed."""
    reran: bool
    """Whether a stage ran again."""


def stages_run_again() -> int:
    """The number of stages that had to run again so far."""
    tracker = spark.sparkContext.statusTracker()
    found = (tracker.getStageInfo(stage) for stage in range(1000))
    return sum(1 for stage in found if stage and stage.currentAttemptId > 0)


def joined(name: str, *, id: int = -1, minute: int = -1) -> Found:
    """Kills the executor that reads `id`, or all executors at the window that starts at `minute`."""
    here = folder / name
    feeds = [Feed(spark, here / side, SCHEMA) for side in ("left", "right")]
    deed = here / "deed"
    before = stages_run_again()

    def side(feed: Feed, key: str) -> DataFrame:
        marked = tidemark.with_watermark(feed.stream(), "time", "0 seconds", key=key)
        return marked.select(
            mortal(F.col("id"), deed, id, everyone=False).alias(f"id_{key}"),
            F.col("time").alias(f"t_{key}"),
        )

    near = "id_a % 3 = id_b % 3 AND t_b BETWEEN t_a AND t_a + INTERVAL 10 MINUTES"
    both = side(feeds[0], "a").join(side(feeds[1], "b"), F.expr(near), "left_outer")
    counts = both.groupBy(F.window("t_a", "10 minutes")).agg(F.count("*"), F.count("id_b"))
    start = mortal(F.minute("window.start").cast("long"), deed, minute, everyone=True)
    stepper = Stepper(counts.select(start, "count(1)", "count(id_b)"), "append", here / "cp")
    for step in range(STEPS):
        for number, feed in enumerate(feeds):
            rows = [(10 * step + n, 10 * step + n + 2 * number) for n in range(6)]
            # One row from an hour before: late, except in the first step.
            rows += [(10 * step + 7, 10 * step - 60)]
            feed.add(*({"id": i, "time": f"{12 + m // 60:02}:{m % 60:02}"} for i, m in rows))
        stepper.step()
    out = [[str(value) for value in row] for batch in stepper.batches for row in batch]
    late = [(str(late.key), late.rows) for late in tidemark.late_rows(stepper.query)]
    stepper.stop()
    return Found(out, late, deed.exists(), stages_run_again() > before)


result(
    straight=joined("straight")._asdict(),
    reading=joined("reading", id=12)._asdict(),
    counting=joined("counting", minute=10)._asdict(),
)
spark.stop()
