"""The query, the same for both engines: flights of a month, by route and minute of the day."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

SCHEMA = "time TIMESTAMP, origin STRING, destination STRING"


def monthly(spark: SparkSession, folder: Path) -> DataFrame:
    """Columns: origin, destination, minute of the day, flights."""
    flights = spark.readStream.schema(SCHEMA).parquet(str(folder))
    # Windows of 31 days begin with the epoch, unless they are moved by eight days: then one begins with 2001.
    month = F.window("time", "31 days", "31 days", "8 days")
    minute = (F.hour("time") * 60 + F.minute("time")).alias("minute")
    counts = flights.withWatermark("time", "1 hour").groupBy(month, "origin", "destination", minute)
    return counts.count().select("origin", "destination", "minute", "count")
