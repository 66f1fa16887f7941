"""What a query that was stopped has in its state, as Spark itself reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def counts_left(spark: SparkSession, checkpoint: Path) -> list[tuple[Any, ...]]:
    """Of a windowed count: window's beginning in seconds, the other keys, rows counted so far."""
    state = spark.read.format("statestore").load(str(checkpoint))
    flat = state.select("key.*", "value.*")
    window, *others = flat.columns
    begin = F.unix_seconds(F.col(window)["start"]).alias(window)
    return [tuple(row) for row in flat.select(begin, *others).collect()]
