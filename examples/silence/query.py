"""The query: rows by the minute, of two inputs together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from common.engines import Engine

from .steps import DELAY_TEXT, IDLE_TEXT, INPUTS, WINDOW, Input

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def per_minute(spark: SparkSession, engine: Engine, live: Path) -> DataFrame:
    """Columns: when the window begins, in seconds since 1970; the input; how many rows."""
    first, other = (_input(spark, engine, live / source, source) for source in INPUTS)
    window = F.window("time", f"{WINDOW} seconds").alias("window")
    counts = first.union(other).groupBy(window, "source").count()
    return counts.select(F.unix_seconds("window.start").alias("window"), "source", "count")


def _input(spark: SparkSession, engine: Engine, folder: Path, source: Input) -> DataFrame:
    rows = spark.readStream.schema("at LONG").json(str(folder))
    rows = rows.select(F.timestamp_seconds("at").alias("time"), F.lit(source).alias("source"))
    if engine == "stock":
        return rows.withWatermark("time", DELAY_TEXT)
    import tidemark

    return tidemark.with_watermark(rows, "time", DELAY_TEXT, key=source, idle_after=IDLE_TEXT)
