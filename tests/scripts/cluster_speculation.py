"""A query with one hanging task, of which Spark runs a speculative copy on another machine."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import functions as F
from support.cluster import on_a_cluster, two_machines
from support.feeds import Feed
from support.processes import result
from support.streams import Stepper

import tidemark

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "2s",
}
HANGS_SECONDS = 300
TASKS = 4

folder = Path(sys.argv[1])


def hanging(victim: int, deed: Path) -> F.Column:
    """The unchanged id; the first attempt of the task that reads the id `victim` hangs."""

    @F.udf("long")
    def hang(number: int) -> int:
        if number == victim:
            context = TaskContext.get()
            if context is not None and context.attemptNumber() == 0:
                time.sleep(HANGS_SECONDS)
            else:
                deed.touch()
        return number

    return hang("id")


def counted(name: str, victim: int) -> tuple[dict[str, Any], bool]:
    """The results of a query in two runs of one batch each, and whether the victim's task ran a second time."""
    here = folder / name
    feed = Feed(spark, here / "in", "id LONG, time TIMESTAMP")
    deed = here / "deed"
    marked = tidemark.with_watermark(
        feed.stream(), "time", "0 seconds", split_by="id", max_ahead="1 day"
    )
    windows = marked.groupBy(F.window("time", "10 minutes"))
    sums = windows.agg(F.sum(hanging(victim, deed)).alias("sum")).select("window.start", "sum")
    found: dict[str, Any] = {"rows": [], "late": []}
    for hour in (12, 13):
        # Each file is read by one task. In the second run, one row is late and one is too far ahead.
        for number in range(TASKS):
            rows = [{"id": number, "time": f"{hour}:0{number}"}]
            if hour == 13 and number == 1:
                rows += [{"id": 1, "time": "11:00"}, {"id": 1, "time": "2100-01-01 00:00:00"}]
            feed.add(*rows)
        stepper = Stepper(sums, "append", here / "cp")
        found["rows"] += [[str(start), total] for start, total in stepper.step()]
        found["late"] += [late.rows for late in tidemark.late_rows(stepper.query)]
        origin = stepper.inputs()["time"]
        stepper.stop()
    found["clocks"] = sorted(
        (split["name"], split["clock_ms"]) for split in origin["splits"]["worst"]
    )
    found["far_ahead"] = origin["far_ahead_rows"]
    return found, deed.exists()


with two_machines(folder) as master:
    spark = on_a_cluster(folder, master, **SPECULATION)
    result(straight=counted("straight", victim=-1), hanging=counted("hanging", victim=1))
    spark.stop()
