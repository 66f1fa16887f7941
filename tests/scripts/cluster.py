"""Queries on executors in separate processes, which get the jar through `spark.jars` alone.

The dashboards, and a query with splits in which one task fails and is retried.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import functions as F
from support.cluster import on_a_cluster
from support.dashboards import SCHEMA, dashboards
from support.feeds import Feed
from support.processes import result
from support.streams import Stepper, run_once

import tidemark

folder = Path(sys.argv[1])
spark = on_a_cluster(folder)
out = []
for hour in range(3):
    Feed(spark, folder / "in" / "fast", SCHEMA).add({"id": hour, "time": f"{hour + 6:02}:30"})
    Feed(spark, folder / "in" / "slow", SCHEMA).add({"id": hour, "time": f"{hour:02}:30"})
    rows = run_once(dashboards(spark, str(folder / "in")), folder / "cp")
    out.append([[name, str(start), count] for name, start, count in rows])

failed = folder / "failed"


@F.udf("long")
def shaky(number: int) -> int:
    """Fails once, after its task has read its rows."""
    if number == 3 and TaskContext.get().attemptNumber() == 0:
        failed.touch()
        raise RuntimeError("a task that fails")
    return number


readings = Feed(spark, folder / "readings", "device STRING, time TIMESTAMP, n LONG")
for number, (device, at) in enumerate(
    [("a", "10:00"), ("b", "10:05"), ("a", "2100-01-01 00:00:00"), ("a", "10:01")]
):
    readings.add({"device": device, "time": at, "n": number})
marked = tidemark.with_watermark(
    readings.stream(), "time", "0 seconds", split_by="device", max_ahead="1 day"
)
stepper = Stepper(
    marked.groupBy("device").agg(F.sum(shaky("n"))), mode="update", checkpoint=folder / "split"
)
sums = stepper.step()
origin = stepper.inputs()["time"]
clocks = {split["name"]: split["clock_ms"] for split in origin["splits"]["worst"]}
stepper.stop()

problems = str(tidemark.doctor(spark)) if tidemark.doctor(spark).problems else ""
executors = spark._jsc.sc().statusTracker().getExecutorInfos()
result(
    out=out,
    problems=problems,
    executors=len(executors) - 1,
    sums=sums,
    clocks=clocks,
    far_ahead=origin["far_ahead_rows"],
    failed=failed.exists(),
)
spark.stop()
