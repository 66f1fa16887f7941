"""The query that several tests run: a union of the hourly counts of two inputs."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark import with_watermark

SCHEMA = "id LONG, time TIMESTAMP"


def dashboards(spark: SparkSession, folder: str, files_per_batch: int = 1000) -> DataFrame:
    """Rows per hour of `folder`/fast and `folder`/slow; each input's windows close by its own watermark."""
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
