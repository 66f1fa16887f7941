"""What several reports read and count."""

from __future__ import annotations

from datetime import datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from corpus.inputs import inputs

SPARK = "https://github.com/apache/spark/pull/"

AT = "id STRING, at TIMESTAMP"

# Rows in their order, a late one, and a last one that closes all windows.
DOORS = inputs(
    {"doors": AT},
    [[("a", "10:00"), ("b", "10:04")]],
    [[("a", "10:31"), ("c", "10:22")]],
    [[("b", "10:33"), ("d", "10:05"), ("a", "10:31")]],
    [[("c", "11:10"), ("c", "10:50")]],
    [[("e", "13:00")]],
)

EACH = {"left": AT, "right": AT}
NO_EMPTY_BATCHES = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}


def per_hour(marked: DataFrame, *by: str) -> DataFrame:
    return marked.groupBy(F.window("at", "1 hour"), *by).count()


def joined(left: DataFrame, right: DataFrame, how: str, within: str) -> DataFrame:
    return left.join(right.toDF("id2", "at2"), F.expr(f"id = id2 AND {within}"), how)


def hour(of_day: int) -> tuple[datetime, datetime]:
    """The window of this hour, as a row has it."""
    start = datetime(2024, 1, 1, of_day)
    return start, start + timedelta(hours=1)
