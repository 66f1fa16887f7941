"""Queries on executors that are processes of their own; the jar by `spark.jars` alone.

The dashboards, and a query whose input is split, of which one task fails and is tried again.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark

folder = Path(sys.argv[1])

# A local cluster writes its work into SPARK_HOME, and pip's is not ours to write into.
home = folder / "home"
for name in ("bin", "sbin", "jars", "python"):
    target = Path(pyspark.__file__).parent / name
    if target.exists():
        home.mkdir(exist_ok=True)
        (home / name).symlink_to(target)
for name in ("conf", "work", "logs"):
    (home / name).mkdir()
os.environ["SPARK_HOME"] = str(home)

from pyspark import TaskContext  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from support.dashboards import SCHEMA, dashboards  # noqa: E402
from support.feeds import Feed  # noqa: E402
from support.processes import result  # noqa: E402
from support.streams import Stepper, run_once  # noqa: E402

import tidemark  # noqa: E402

spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.jars", tidemark.jar_path())
    .config("spark.sql.extensions", tidemark.EXTENSION)
    .config("spark.ui.enabled", "false")
    .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.files.minPartitionNum", "4")
    .getOrCreate()
)
out = []
for hour in range(3):
    Feed(spark, folder / "in" / "fast", SCHEMA).add({"id": hour, "time": f"{hour + 6:02}:30"})
    Feed(spark, folder / "in" / "slow", SCHEMA).add({"id": hour, "time": f"{hour:02}:30"})
    rows = run_once(dashboards(spark, str(folder / "in")), folder / "cp")
    out.append([[name, str(start), count] for name, start, count in rows])

failed = folder / "failed"


@F.udf("long")
def shaky(number: int) -> int:
    """Fails once, when its task has read its rows."""
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
origin = stepper.origins()["time"]
clocks = {one["name"]: one["clock_ms"] for one in origin["splits"]["worst"]}
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
