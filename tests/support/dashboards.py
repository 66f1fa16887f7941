"""The query that is run in several places: hourly counts of two inputs, side by side."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark import with_watermark

SCHEMA = "id LONG, time TIMESTAMP"


def dashboards(spark: SparkSession, folder: str, files_per_batch: int = 1000) -> DataFrame:
    """Rows per hour of the inputs `folder`/fast and `folder`/slow, each closed by its own time."""
    parts = []
    for name in ("fast", "slow"):
        events = (
            spark.readStream.schema(SCHEMA)
            .option("maxFilesPerTrigger", files_per_batch)
            .json(f"{folder}/{name}")
        )
        marked = with_watermark(events, "time", "10 minutes", key=name)
        counted = marked.groupBy(F.window("time", "1 hour")).count()
        parts.append(counted.select(F.lit(name).alias("name"), "window.start", "count"))
    return parts[0].union(parts[1])
