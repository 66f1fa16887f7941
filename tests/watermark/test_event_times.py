"""Extreme event times: the same results as stock Spark, and no crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.queries import Query, distinct
from support.streams import Row, Stepper, left_to_spark

from tidemark import with_watermark

pytestmark = pytest.mark.more

SCHEMA = "id LONG, time TIMESTAMP"

EDGES: dict[str, list[list[dict[str, Any]]]] = {
    "null": [
        [{"id": 1, "time": None}, {"id": 2, "time": "10:00"}],
        [{"id": 3, "time": None}],
        [{"id": 4, "time": "10:20"}, {"id": 5, "time": None}],
    ],
    "only null": [[{"id": 1, "time": None}], [{"id": 2, "time": None}]],
    "before 1970": [
        [{"id": 1, "time": "1950-06-01T00:00:00Z"}],
        [{"id": 2, "time": "1969-12-31T23:59:59.999Z"}, {"id": 3, "time": "0001-01-01T00:00:00Z"}],
        [{"id": 4, "time": "1970-01-01T00:30:00Z"}],
    ],
    "year 9999": [
        [{"id": 1, "time": "10:00"}],
        [{"id": 2, "time": "9999-12-31T23:59:59.999Z"}],
        [{"id": 3, "time": "11:00"}],
    ],
    "fractions": [
        [{"id": 1, "time": "2024-01-01T10:00:00.000999Z"}],
        [{"id": 2, "time": "2024-01-01T10:10:00.000001Z"}],
        [{"id": 3, "time": "2024-01-01T10:09:59.999999Z"}],
    ],
}


# Two hours of the next day: they advance the watermark past most rows above, so results are emitted.
ORDINARY = [
    [{"id": 8, "time": "2024-01-02T10:00:00Z"}],
    [{"id": 9, "time": "2024-01-02T12:00:00Z"}],
]


def counted(df: DataFrame) -> DataFrame:
    return df.groupBy(F.window("time", "10 minutes")).count().select("window.start", "count")


@pytest.mark.usefixtures("one_partition")
@pytest.mark.parametrize("query", [counted, distinct])
@pytest.mark.parametrize("edge", EDGES)
def test_unusual_event_times_give_the_same_batches_as_stock_spark(
    spark: SparkSession,
    tmp_path: Path,
    run: Callable[..., Stepper],
    query: Query,
    edge: str,
) -> None:
    def batches(name: str) -> list[list[Row]]:
        feed = Feed(spark, tmp_path / name, SCHEMA)
        df = query(with_watermark(feed.stream(), "time", "0 seconds"))
        # Times as text: Python's datetime cannot hold every Spark timestamp.
        stepper = run(
            df.select([F.col(c).cast("string") for c in df.columns]), checkpoint=f"{name}.cp"
        )
        for rows in EDGES[edge] + ORDINARY:
            feed.add(*rows)
            stepper.step()
        stepper.stop()
        return stepper.batches

    with left_to_spark(spark):
        stock = batches("stock")
    assert any(stock), "nothing came out: there is nothing to compare"
    assert batches("tidemark") == stock


def test_a_timestamp_ntz_column_works_after_a_cast_to_timestamp(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    # Stock Spark refuses this type as event time; test_with_watermark.py tests Tidemark's refusal.
    events = feed("events", "id LONG, local TIMESTAMP_NTZ")
    converted = events.stream().select("id", F.col("local").cast("timestamp").alias("time"))
    stepper = run(counted(with_watermark(converted, "time", "0 seconds")))
    events.add({"id": 1, "local": "2024-01-01T10:00:00"}, {"id": 2, "local": "2024-01-01T10:10:00"})
    assert [count for _, count in stepper.step()] == [1]
