"""The two queries, as a user would write them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidemark
from flights_weather.data import AIRPORTS

REPORTS = "origin STRING, departure TIMESTAMP"
QUARTERS = "time TIMESTAMP, origin STRING, flights LONG"
DELAY = "10 minutes"

Mark = Callable[[DataFrame], DataFrame]
"""Gives the rows of the first query a watermark."""


def quarters(spark: SparkSession, reports: Path) -> DataFrame:
    """The first query: departures by quarter of an hour. Each airport has an input, and a watermark."""
    return reduce(DataFrame.union, [_of_airport(spark, reports, name) for name in AIRPORTS])


def _of_airport(spark: SparkSession, reports: Path, airport: str) -> DataFrame:
    rows = spark.readStream.schema(REPORTS).json(str(reports / airport))
    departed = rows.where("departure IS NOT NULL")
    marked = tidemark.with_watermark(departed, "departure", DELAY, key=airport)
    counts = marked.groupBy(F.window("departure", "15 minutes"), "origin")
    # A time within the quarter, as Spark itself takes it for windows of windows.
    return counts.agg(F.count("*").alias("flights")).select(
        F.window_time("window").alias("time"), "origin", "flights"
    )


def hours(quarters: DataFrame, mark: Mark) -> DataFrame:
    """The second query: departures by hour and airport."""
    counts = mark(quarters).groupBy(F.window("time", "1 hour"), "origin")
    return counts.agg(F.sum("flights").alias("flights"))


def guessed(delay: timedelta) -> Mark:
    """A delay, as in stock Spark."""
    return lambda rows: rows.withWatermark("time", f"{delay.total_seconds():.0f} seconds")


def noted(log: str | bool) -> Mark:
    """The time that the first query has noted."""
    return lambda rows: tidemark.with_watermark(rows, "time", noted=log)
