"""Everything a user calls, on a Spark Connect session."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructType
from support.dashboards import SCHEMA, dashboards
from support.feeds import Feed
from support.processes import result

import tidemark
from common.session import file_manager

folder = Path(sys.argv[1])
builder = (
    SparkSession.builder.remote("local[2]")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
    # For speed: compiling the code of these small queries takes longer than running them.
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    .config("spark.sql.streaming.pollingDelay", "10ms")
    .config("spark.sql.streaming.checkpointFileManagerClass", file_manager())
)
spark = tidemark.configure(builder).getOrCreate()
found: dict[str, object] = {"session": type(spark).__module__}

fast = Feed(spark, folder / "fast", SCHEMA)
slow = Feed(spark, folder / "slow", SCHEMA)
events = fast.stream().withColumn("dotted.name", F.col("time")).withColumn("s", F.struct("time"))


def code_of(column: str, delay: str) -> str | None:
    try:
        tidemark.with_watermark(events, column, delay)
    except tidemark.TidemarkError as error:
        return error.code
    return None


found["codes"] = [
    code_of(*arguments)
    for arguments in (
        ("nope", "1 minute"), ("s.time", "1 minute"), ("id", "1 minute"), ("time", "-1 minute"),
        ("time", "soon"), ("dotted.name", "1 minute"), ("TIME", "1 minute"),
    )
]  # fmt: skip
found["metadata"] = [
    tidemark.with_watermark(events, name, "1 minute", key="k").schema[name].metadata
    for name in ("time", "dotted.name")
]


def steps(df: DataFrame, name: str) -> list[list[list[object]]]:
    """The rows that a query has emitted after each of three steps of input."""
    query = (
        df.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(folder / f"{name}.cp"))
        .start()
    )
    out = []
    for hour in range(3):
        if name == "keyed":
            fast.add({"id": hour, "time": f"{hour + 6:02}:30"})
            if hour == 0:
                slow.add({"id": hour, "time": f"{hour:02}:30"})
        query.processAllAvailable()
        rows = spark.table(name).collect()
        out.append(sorted([name, str(start), count] for name, start, count in rows))
    found[f"{name} report"] = str(tidemark.report(query))
    found[f"{name} inputs"] = [o["key"] for o in tidemark.report(query).to_dict()["inputs"]]
    found[f"{name} late"] = [[late.operator, late.rows] for late in tidemark.late_rows(query)]
    if name == "keyed":
        found["page"] = tidemark.report(query)._repr_html_()
        found["watched"] = tidemark.watch(query, every=0.01, until=lambda now: True).why
    query.stop()
    return out


explained = tidemark.explain(dashboards(spark, str(folder)))
found["explained"] = [[operator.operator, operator.waits_for] for operator in explained.operators]
found["explained findings"] = sorted({finding.code for finding in explained.findings})

found["keyed"] = steps(dashboards(spark, str(folder)), "keyed")
plot = tidemark.plot(folder / "keyed.cp")
found["plot"] = {"keys": sorted({row["key"] for row in plot.data}), "svg": plot._repr_svg_()}

plain = [
    feed.stream()
    .withColumnRenamed("time", f"{name}_time")
    .withWatermark(f"{name}_time", "10 minutes")
    .groupBy(F.window(f"{name}_time", "1 hour"))
    .count()
    .select(F.lit(name).alias("name"), "window.start", "count")
    for name, feed in (("fast", fast), ("slow", slow))
]
found["plain"] = steps(plain[0].union(plain[1]), "plain")[-1]


def run_to_files(df: DataFrame, name: str) -> None:
    query = (
        df.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / f"{name}.cp"))
        .trigger(availableNow=True)
        .start(str(folder / name))
    )
    query.awaitTermination()


log = str(folder / "log")
fast_time = fast.stream().withWatermark("time", "1 minute")
run_to_files(tidemark.note_time(fast_time, "time", to=log), "noting")
stated = tidemark.marks.Marks(log).watermark()
found["noted"] = stated and stated.lower_millis
by_marks = tidemark.with_watermark(
    spark.readStream.schema(SCHEMA).parquet(str(folder / "noting")), "time", noted=log
)
window = by_marks.select(tidemark.time_window("time").alias("window"), "id")
run_to_files(window, "windows")
fast.add({"id": 9, "time": "12:00"})
run_to_files(tidemark.note_time(fast_time, "time", to=log), "noting")
run_to_files(window, "windows")
windows = spark.read.parquet(str(folder / "windows")).where("id = 9").selectExpr("window.*")
found["window"] = [[value and str(value) for value in row] for row in windows.collect()]

tidemark.marks.Marks(folder / "marks").writer("eu").note_time(7, tidemark.marks.NumberPosition(1))
marks = tidemark.mark_table(folder / "marks").orderBy("number").select("kind", "position")
found["marks"] = [list(row) for row in marks.collect()]


async def doubled(n: int) -> dict[str, int]:
    return {"n": n, "twice": 2 * n}


# A windowed count behind calls: the watermark of the time passes them.
called = tidemark.map_async(
    fast.stream().withWatermark("time", "10 minutes"),
    "found",
    doubled,
    inputs="id",
    returns="n LONG, twice LONG",
)
hours = called.groupBy(F.window("time", "1 hour"), "found.twice").count()
run_to_files(hours.select("window.start", "twice"), "called")
calls = spark.read.parquet(str(folder / "called")).orderBy("start").collect()
found["called"] = [[str(row["start"]), row["twice"]] for row in calls]


def in_flow(make: Callable[[], DataFrame]) -> DataFrame | None:
    """What a pipeline's flow would return; None before Spark 4.1, which has no pipelines."""
    try:
        from pyspark.pipelines.add_pipeline_analysis_context import add_pipeline_analysis_context
    except ImportError:
        return None
    with add_pipeline_analysis_context(spark, "graph", "flow"):
        return make()


twice = StructType().add("n", LongType()).add("twice", LongType())


def everything() -> DataFrame:
    """All that the facade makes of a DataFrame."""
    df = tidemark.with_watermark(
        events, "time", "1 minute", key="k", split_by=["s.time", "dotted"], idle_after="1 hour",
        max_ahead="1 month",
    )  # fmt: skip
    df = tidemark.in_order(df, "time", by="id", then="dotted")
    df = tidemark.map_async(
        df,
        "found",
        doubled,
        inputs="id",
        returns=twice,
        timeout="1 minute 30 seconds",
    )
    return tidemark.note_time(df, "time", to=log, less="1 hour")


events = events.withColumn("dotted", F.lit("x"))
flow = in_flow(everything)
found["flow"] = None if flow is None else flow.schema["time"].metadata


def refusal(returns: str | StructType, timeout: str) -> str | None:
    try:
        in_flow(
            lambda: tidemark.map_async(
                events, "found", doubled, inputs="id", returns=returns, timeout=timeout
            )
        )
    except tidemark.TidemarkError as error:
        return f"{error.code} {error.parameters['option']}"
    return None


found["flow refuses"] = [refusal(twice, "soon"), refusal("n LONG", "1 minute")]
found["problems"] = str(tidemark.doctor(spark)) if tidemark.doctor(spark).problems else ""
result(**found)
spark.stop()
