"""A query with one watermark gives the same rows in the same batches as stock Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.queries import Query, distinct, distinct_for_a_while
from support.streams import Row, Stepper, left_to_spark

from tidemark import with_watermark

pytestmark = pytest.mark.more

SCHEMA = "id LONG, time TIMESTAMP"
INPUT = [
    [("10:00", 1), ("10:04", 2), ("10:12", 1)],
    [("10:25", 3), ("09:50", 1), ("10:26", 3)],
    [("10:10", 4), ("10:16", 5)],
    [("11:00", 6)],
    [("10:49", 7), ("10:51", 7), ("12:00", 8)],
]


def tumbling(df: DataFrame) -> DataFrame:
    return df.groupBy(F.window("time", "10 minutes")).count()


def sliding(df: DataFrame) -> DataFrame:
    return df.groupBy(F.window("time", "10 minutes", "5 minutes"), "id").count()


def sessions(df: DataFrame) -> DataFrame:
    return df.groupBy(F.session_window("time", "5 minutes"), "id").count()


def windows_of_windows(df: DataFrame) -> DataFrame:
    return tumbling(df).groupBy(F.window("window", "30 minutes")).agg(F.sum("count"))


CASES = [
    ("append", tumbling),
    ("append", sessions),
    ("append", distinct),
    ("append", distinct_for_a_while),
    ("append", windows_of_windows),
    ("update", sliding),
    ("update", distinct),
    ("complete", tumbling),
]


@pytest.mark.usefixtures("one_partition")
@pytest.mark.parametrize(("mode", "query"), CASES)
def test_a_query_with_one_watermark_emits_the_same_batches_as_stock_spark(
    spark: SparkSession,
    tmp_path: Path,
    run: Callable[..., Stepper],
    mode: str,
    query: Query,
) -> None:
    def batches(name: str) -> list[list[Row]]:
        feed = Feed(spark, tmp_path / name, SCHEMA)
        marked = with_watermark(feed.stream(), "time", "10 minutes")
        stepper = run(query(marked), mode=mode, checkpoint=f"{name}.cp")
        for rows in INPUT:
            feed.add(*({"id": number, "time": time} for time, number in rows))
            stepper.step()
        stepper.stop()
        return stepper.batches

    with left_to_spark(spark):
        stock = batches("stock")
    assert any(stock)
    assert batches("tidemark") == stock
