"""Many queries that start and stop in one application: what is left of them in the heap and in the web UI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.processes import result

import tidemark
from common.session import file_manager
from common.settings import with_settings

QUERIES = int(sys.argv[2])
# How many queries, jobs and so on the UI keeps: few, so that what it keeps is the same before and after.
RETAINED = 10

folder = Path(sys.argv[1])
builder = (
    SparkSession.builder.master("local[1]")
    .appName("many")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.ui.port", "0")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.ui.retainedJobs", RETAINED)
    .config("spark.ui.retainedStages", RETAINED)
    .config("spark.ui.retainedTasks", RETAINED)
    .config("spark.sql.ui.retainedExecutions", RETAINED)
    .config("spark.sql.streaming.ui.retainedQueries", RETAINED)
    .config("spark.sql.streaming.pollingDelay", "10ms")
    .config("spark.sql.streaming.checkpointFileManagerClass", file_manager())
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.session.timeZone", "UTC")
)
spark = tidemark.configure(builder).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
feed = Feed(spark, folder / "in", "time TIMESTAMP, place STRING")
for minute in range(3):
    feed.add(
        {"time": f"12:2{minute}", "place": f"p{minute}"}, {"time": f"1{minute}:30", "place": "q"}
    )
jvm: Any = spark._jvm
pid = jvm.java.lang.ProcessHandle.current().pid()


def once(number: int) -> None:
    rows = feed.stream()
    if spark.conf.get("spark.tidemark.enabled", "true") == "true":
        rows = tidemark.with_watermark(
            rows, "time", "10 minutes", key="k", split_by="place", idle_after="1 hour"
        )
    else:
        rows = rows.withWatermark("time", "10 minutes")
    counts = rows.groupBy(F.window("time", "1 hour")).count()
    query = counts.writeStream.format("noop").queryName(f"q{number}").start()
    query.processAllAvailable()
    if number % 2:
        tidemark.report(query)
    query.stop()


def heap() -> dict[str, Any]:
    """What is live after a collection, and which objects of Tidemark are among it."""
    # Weak references and cleaners take more than one.
    for _ in range(3):
        jvm.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    used = runtime.totalMemory() - runtime.freeMemory()
    command = ["jcmd", str(pid), "GC.class_histogram"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    # Each line: number, instances, bytes, class.
    rows = [line.split() for line in lines.stdout.splitlines() if "." in line and ":" in line]
    instances = {row[3]: int(row[1]) for row in rows if len(row) > 3}
    ours = {name: count for name, count in instances.items() if "tidemark" in name}
    names = ("IncrementalExecution", "MicroBatchExecution", "StreamingQueryWrapper", "SparkSession")
    sparks = {
        name: sum(count for of, count in instances.items() if of.endswith(f".{name}"))
        for name in names
    }
    threads = {thread.getName() for thread in jvm.java.lang.Thread.getAllStackTraces().keySet()}
    return {
        "used": used,
        "objects": sum(instances.values()),
        "ours": ours,
        "sparks": sparks,
        "threads": len(threads),
        "our_threads": sorted(name for name in threads if "tidemark" in name.lower()),
    }


def page() -> dict[str, int]:
    with urlopen(f"{spark.sparkContext.uiWebUrl}/event-time/", timeout=60) as answer:
        text = answer.read().decode()
    with urlopen(f"{spark.sparkContext.uiWebUrl}/event-time/json", timeout=60) as answer:
        reports = answer.read().decode()
    return {"ended": text.count("ENDED"), "bytes": len(text), "json": reports.count('"runId"')}


def several(first: int, count: int) -> None:
    for number in range(first, first + count):
        once(number)


found: dict[str, Any] = {}
with with_settings(spark, {"spark.tidemark.enabled": "false"}):
    several(0, 120)
    found["stock 120"] = heap()
    several(120, QUERIES)
    found["stock"] = heap()
several(1000, 120)
found["tidemark 120"], found["page 120"] = heap(), page()
several(2000, QUERIES)
found["tidemark"], found["page"] = heap(), page()
result(**found)
spark.stop()
