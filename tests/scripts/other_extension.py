"""Queries beside another extension, whose class path is given, before Tidemark's (`first`) or after it (`last`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.other_extension import NAME
from support.processes import result
from support.streams import run_once, stock

import tidemark

folder, classes, place = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
extensions = [tidemark.jars.EXTENSION]
extensions.insert(0 if place == "first" else 1, NAME)
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.extraClassPath", classes)
    .config("spark.jars", str(tidemark.jars.jar_path()))
    .config("spark.sql.extensions", ",".join(extensions))
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.codegen.wholeStage", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")

SCHEMA = "id LONG, time TIMESTAMP"
STEPS = [
    [(1, "10:00"), (2, "10:07")],
    [(3, "10:31"), (1, "10:22")],
    [(4, "10:05"), (5, "10:50"), (2, "10:45")],
    [(7, "11:10"), (8, "12:30")],
]


def windows(df: DataFrame) -> DataFrame:
    df.createOrReplaceTempView("readings")
    return spark.sql(
        "SELECT window.start, count(*) AS n FROM readings GROUP BY window(time, '10 minutes')"
    )


def joined(df: DataFrame) -> DataFrame:
    near = F.expr("l.id = r.id AND r.time BETWEEN l.time AND l.time + INTERVAL 30 MINUTES")
    return df.alias("l").join(df.alias("r"), near, "left_outer").select("l.id", "l.time", "r.time")


def in_order(df: DataFrame) -> DataFrame:
    df.createOrReplaceTempView("readings")
    return spark.sql("SELECT * FROM readings WHERE tidemark_in_order(time, '{}', id)")


def outcome(name: str, making: Any) -> list[str]:
    feed, out = Feed(spark, folder / name, SCHEMA), []
    for step in STEPS:
        feed.add(*({"id": number, "time": time} for number, time in step))
        marked = feed.stream().withWatermark("time", "5 minutes")
        out.append(str(run_once(making(marked), folder / f"{name}.cp")))
    return out


found: dict[str, Any] = {"tidemark": {}, "stock": {}}
for making in (windows, joined):
    with stock(spark):
        found["stock"][making.__name__] = outcome(f"stock-{making.__name__}", making)
    found["tidemark"][making.__name__] = outcome(making.__name__, making)
jvm: Any = spark._jvm
used = jvm.java.lang.Class.forName(
    NAME, True, jvm.java.lang.Thread.currentThread().getContextClassLoader()
)
result(
    **found,
    in_order=outcome("in-order", in_order),
    ok=tidemark.doctor(spark).ok,
    is_managed=(folder / "windows.cp" / "tidemark").is_dir(),
    used=sorted(used.getField("used").get(None).keySet()),
)
spark.stop()
