"""Queries whose tasks or stages run twice, beside the same queries undisturbed.

The first argument is a folder, the second the master, and all others are what goes wrong, each in a run of its own.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from support.cluster import on_a_cluster, two_machines
from support.feeds import Feed
from support.processes import result

import tidemark

SCHEMA = "id LONG, device STRING, time TIMESTAMP"
STEPS = 4
FILES = 4
ROWS = 8
# Something goes wrong at this row, in the middle of the second step's third file. Above the shuffle it does so at the
# first row after it that comes out of the query.
VICTIM = ROWS * FILES + 2 * ROWS + 5
HANGS_SECONDS = 300

folder = Path(sys.argv[1])
stack = ExitStack()
master = sys.argv[2]
SETTINGS = {
    # Rows before the one that fails have gone on to the next operator.
    "spark.sql.execution.python.udf.maxRecordsPerBatch": "1",
    "spark.local.dir": str(folder / "local"),
    "spark.task.maxFailures": "4",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    # Results come in a batch with rows, whose tasks have shuffle files to read.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}
if master == "two machines":
    SETTINGS |= {
        "spark.speculation": "true",
        "spark.speculation.interval": "200ms",
        "spark.speculation.quantile": "0.4",
        "spark.speculation.minTaskRuntime": "2s",
    }
    master = stack.enter_context(two_machines(folder))
spark = on_a_cluster(folder, master, **SETTINGS)


def is_executor(process: Path, application: str) -> bool:
    with suppress(OSError):
        command = (process / "cmdline").read_bytes().decode(errors="replace")
        return "CoarseGrainedExecutorBackend" in command and application in command
    return False


def kill(application: str, *, everyone: bool) -> None:
    """Kills the executor that runs this Python worker's task, or all of its application with this one last."""
    daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
    own = int(daemon.rpartition(")")[2].split()[1])
    others = [
        int(process.name)
        for process in Path("/proc").glob("[0-9]*")
        if is_executor(process, application)
    ]
    for pid in [pid for pid in others if everyone and pid != own] + [own]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def delete_shuffle_files(local: Path) -> None:
    found = list(local.rglob("shuffle_*.data"))
    assert found
    for file in found:
        file.unlink()


class Trouble(NamedTuple):
    """What goes wrong, below the shuffle (`read`) or above it (`shuffled`), at which row."""

    what: str = ""
    where: str = ""
    victim: int = -1


def troubled(trouble: Trouble, where: str, deed: Path) -> F.Column:
    """The unchanged id. The first task that sees the victim's does what the trouble is."""
    application, local = spark.sparkContext.applicationId, folder / "local"
    what, victim = trouble.what, trouble.victim if trouble.where == where else -1

    @F.udf("long")
    def once(number: int) -> int:
        context = TaskContext.get()
        if number != victim or context is None or deed.exists():
            return number
        if what == "hangs":
            if context.attemptNumber() == 0:
                time.sleep(HANGS_SECONDS)
            deed.touch()
        elif what == "fails":
            deed.touch()
            raise RuntimeError("a task that fails")
        elif what == "dies":
            deed.touch()
            kill(application, everyone=False)
        elif what == "all die":
            deed.touch()
            kill(application, everyone=True)
        elif what == "files are gone":
            deed.touch()
            delete_shuffle_files(local)
            raise RuntimeError("a task that has to read its shuffle files again")
        return number

    return once("id")


def rows_of(step: int) -> Iterator[list[dict[str, Any]]]:
    """Four files, each with rows of two devices out of order, and with one of long ago."""
    for file in range(FILES):
        first = (step * FILES + file) * ROWS
        rows = [
            {
                "id": first + n,
                "device": "ab"[n % 2],
                "time": f"{10 + step}:{(7 * n + 13 * file) % 60:02}",
            }
            for n in range(ROWS)
        ]
        rows[3]["time"] = f"0{step + 1}:0{file}"
        yield rows


def marked(readings: DataFrame) -> DataFrame:
    return tidemark.with_watermark(
        readings, "time", "10 minutes", key="readings", split_by="device", max_ahead="1 day"
    )


def ordered(readings: DataFrame, trouble: Trouble, deed: Path) -> DataFrame:
    """Rows in order, each of which a service is asked about."""
    below = troubled(trouble, "read", deed)
    above = troubled(trouble, "shuffled", deed)
    rows = marked(readings).select(below.alias("id"), "device", "time")
    rows = tidemark.in_order(rows, "time", by="device", then="id")
    calls = str(deed.with_name("calls"))

    async def ask(number: int) -> str:
        with open(calls, "a") as file:
            print(number, tidemark.call_id(), file=file)
        return f"answer {number}"

    called = tidemark.map_async(rows, "answer", ask, inputs="id", returns="STRING", concurrency=4)
    return called.select(above.alias("id"), "device", "time", "answer")


def counted(readings: DataFrame, trouble: Trouble, deed: Path) -> DataFrame:
    """Rows of each quarter of an hour. Spark drops the late ones."""
    below = troubled(trouble, "read", deed)
    above = troubled(trouble, "shuffled", deed)
    rows = marked(readings).select(below.alias("id"), "device", "time")
    windows = rows.groupBy(F.window("time", "15 minutes"), "device").agg(
        F.min("id").alias("id"), F.count("*").alias("rows")
    )
    return windows.select(above.alias("id"), "device", F.col("window.start").alias("time"), "rows")


def joined(readings: DataFrame, trouble: Trouble, deed: Path) -> DataFrame:
    """Each row with the first of the other device in its minute. Tidemark drops the late ones."""
    below = troubled(trouble, "read", deed)
    above = troubled(trouble, "shuffled", deed)
    rows = marked(readings)
    left = rows.select(below.alias("id"), "device", "time")
    right = rows.select(
        F.col("id").alias("other"), F.col("device").alias("of"), F.col("time").alias("at")
    )
    near = F.expr(
        "device <> of AND at BETWEEN time AND time + INTERVAL 2 MINUTES AND id % 2 <> other % 2"
    )
    both = left.join(right, near & (F.col("id") % 3 == F.col("other") % 3), "left_outer")
    return both.select(above.alias("id"), "device", "time", "other", "at")


def operators(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("children", []):
        yield from operators(child)


def reported(query: Any) -> dict[str, Any]:
    """What the report says, without times of the wall clock."""
    report = tidemark.report(query).to_dict()
    names = ("operator", "id", "late_rows", "columns", "late_ms", "eviction_ms", "least_ms")
    plan = [{name: op.get(name) for name in names} for op in operators(report["plan"])]
    for op, shown in zip(plan, operators(report["plan"]), strict=True):
        held = shown.get("held")
        op["held"] = held and {k: v for k, v in held.items() if k != "bytes"}
    inputs = [
        {
            **{
                name: found[name]
                for name in (
                    "key",
                    "watermark_ms",
                    "late_watermark_ms",
                    "max_event_time_ms",
                    "far_ahead_rows",
                )
            },
            "clocks": sorted(
                [split["name"], split["clock_ms"]] for split in found["splits"]["worst"]
            ),
        }
        for found in report["inputs"]
    ]
    return {"batch": report["batch"], "inputs": inputs, "plan": plan}


def stages_run_again() -> int:
    tracker = spark.sparkContext.statusTracker()
    found = (tracker.getStageInfo(stage) for stage in range(3000))
    return sum(1 for stage in found if stage and stage.currentAttemptId > 0)


Making = Callable[[DataFrame, Trouble, Path], DataFrame]
QUERIES: dict[str, Making] = {"ordered": ordered, "counted": counted, "joined": joined}


def outcome(making: Making, name: str, trouble: Trouble) -> dict[str, Any]:
    here = folder / name
    here.mkdir()
    deed = here / "deed"
    (here / "in").mkdir()
    readings = spark.readStream.schema(SCHEMA).json(str(here / "in" / "*"))
    before = stages_run_again()
    writer = making(readings, trouble, deed).writeStream.format("parquet")
    query = writer.option("checkpointLocation", str(here / "cp")).start(str(here / "out"))
    for step in range(STEPS):
        # All files of a step come in one batch: their folder appears as a whole.
        draft = here / f"draft{step}"
        feed = Feed(spark, draft, SCHEMA)
        for rows in rows_of(step):
            feed.add(*rows)
        draft.rename(here / "in" / str(step))
        query.processAllAvailable()
    found: dict[str, Any] = {}
    progress = query.recentProgress
    state = [op for batch in progress for op in batch.stateOperators]
    found["dropped"] = sum(op.numRowsDroppedByWatermark for op in state)
    found["in_state"] = [
        [op.numRowsTotal for op in batch.stateOperators] for batch in progress if batch.numInputRows
    ]
    found["late"] = [
        [late.operator, late.side, late.rows, str(late.most_late), late.last_rows, late.splits]
        for late in tidemark.late_rows(query)
    ]
    found["report"] = reported(query)
    metrics = [batch.observedMetrics for batch in progress if batch.numInputRows]
    found["observed"] = [
        {
            name: value
            for name, value in batch["tidemark"].asDict().items()
            if name.startswith(("late_rows", "passed", "watermark_ms"))
        }
        for batch in metrics
    ]
    found["calls_reported"] = sum(
        batch.observedMetrics["tidemark_calls_answer"]["calls"] or 0
        for batch in progress
        if "tidemark_calls_answer" in batch.observedMetrics
    )
    query.stop()
    log = tidemark.watermark_log(str(here / "cp"))
    columns = ("batch", "key", "split", "clock", "watermark", "idle", "held_by_split")
    found["log"] = sorted(map(str, log.select(*columns).collect()))
    out = spark.read.parquet(str(here / "out")).drop("answer").collect()
    found["rows"] = sorted(str(list(row)) for row in out)
    lines = (here / "calls").read_text().splitlines() if (here / "calls").exists() else []
    times = Counter(line.split()[0] for line in lines)
    return {
        "found": found,
        "out": sorted(row["id"] for row in out),
        "called": {number: times[number] for number in sorted(times, key=int)},
        "ids": len(set(lines)),
        "did": deed.exists(),
        "reran": stages_run_again() - before,
    }


def all_outcomes(making: Making, name: str) -> dict[str, Any]:
    straight = outcome(making, f"{name}-straight", Trouble())
    after = min(id for id in straight["out"] if id >= VICTIM)
    every = {"straight": straight}
    for trouble in sys.argv[3:]:
        what, where = trouble.split("@")
        victim = VICTIM if where == "read" else after
        every[trouble] = outcome(making, f"{name}-{what}-{where}", Trouble(what, where, victim))
    return every


with stack:
    found = {name: all_outcomes(making, name) for name, making in QUERIES.items()}
    spark.stop()
result(**found)
