"""Readings of devices, each of which is a split, and counts of the readings."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SCHEMA = "device STRING, time TIMESTAMP, n LONG"


def reading(device: str | None, time: str, n: int = 0) -> dict[str, Any]:
    return {"device": device, "time": time, "n": n}


def per_ten_minutes(df: DataFrame) -> DataFrame:
    counts = df.groupBy("device", F.window("time", "10 minutes")).count()
    return counts.select("device", F.date_format("window.start", "HH:mm"), "count")
