"""Two more tables: what was returned by the hour, by post and in the shops."""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidemark

RETURN = "at TIMESTAMP, shop STRING"


def by_hour(feed: str) -> DataFrame:
    folder = os.environ.get("RETURNS", "/tmp/tidemark-pipeline/returns")
    rows = SparkSession.active().readStream.schema(RETURN).json(f"{folder}/{feed}")
    rows = tidemark.with_watermark(
        rows, "at", "10 minutes", key=feed, split_by="shop", idle_after="1 day"
    )
    hours = rows.groupBy(F.window("at", "1 hour")).count()
    return hours.select(F.col("window.start").alias("hour"), "count")


@dp.table
def returns_by_post() -> DataFrame:
    return by_hour("post")


@dp.table
def returns_in_shops() -> DataFrame:
    return by_hour("shops")
