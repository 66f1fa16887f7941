"""The dashboards on executors that are processes of their own; the jar by `spark.jars` alone."""

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

from pyspark.sql import SparkSession  # noqa: E402
from support.dashboards import SCHEMA, dashboards  # noqa: E402
from support.feeds import Feed  # noqa: E402
from support.processes import result  # noqa: E402
from support.streams import run_once  # noqa: E402

import tidemark  # noqa: E402

spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.jars", tidemark.jar_path())
    .config("spark.sql.extensions", tidemark.EXTENSION)
    .config("spark.ui.enabled", "false")
    .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
out = []
for hour in range(3):
    Feed(spark, folder / "in" / "fast", SCHEMA).add({"id": hour, "time": f"{hour + 6:02}:30"})
    Feed(spark, folder / "in" / "slow", SCHEMA).add({"id": hour, "time": f"{hour:02}:30"})
    rows = run_once(dashboards(spark, str(folder / "in")), folder / "cp")
    out.append([[name, str(start), count] for name, start, count in rows])

problems = str(tidemark.doctor(spark)) if tidemark.doctor(spark).problems else ""
executors = spark._jsc.sc().statusTracker().getExecutorInfos()
result(out=out, problems=problems, executors=len(executors) - 1)
spark.stop()
