"""Spark's state reader finds the state that stock Spark would have kept, and other queries do not change it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.queries import Query, distinct, distinct_for_a_while
from support.streams import Row, Stepper, stock

pytestmark = [pytest.mark.classic, pytest.mark.usefixtures("one_partition")]

SCHEMA = "id LONG, time TIMESTAMP"
STEPS = ["10:00", "10:25", "10:05", "10:31"]


def windows(df: DataFrame) -> DataFrame:
    return df.groupBy(F.window("time", "10 minutes"), "id").count()


def joined(df: DataFrame) -> DataFrame:
    near = F.expr("l.id = r.id AND r.time BETWEEN l.time AND l.time + INTERVAL 20 MINUTES")
    return df.alias("l").join(df.alias("r"), near, "left_outer").select("l.id", "l.time", "r.time")


def state(spark: SparkSession, checkpoint: Path, **options: str) -> list[str]:
    read = spark.read.format("statestore").options(**options).load(str(checkpoint))
    return sorted(str(row) for row in read.select("key", "value").collect())


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (windows, {}),
        pytest.param(distinct, {}, marks=pytest.mark.more),
        pytest.param(distinct_for_a_while, {}, marks=pytest.mark.more),
        (joined, {"joinSide": "left"}),
        pytest.param(joined, {"joinSide": "right"}, marks=pytest.mark.more),
    ],
)
def test_the_state_reader_finds_the_same_state_as_after_stock_spark(
    spark: SparkSession,
    tmp_path: Path,
    run: Callable[..., Stepper],
    query: Query,
    options: dict[str, str],
) -> None:
    def kept(name: str) -> list[str]:
        feed = Feed(spark, tmp_path / name, SCHEMA)
        df = query(feed.stream().withWatermark("time", "5 minutes"))
        for number, time in enumerate(STEPS):
            # Each step is a run of its own, so the state also outlives restarts.
            stepper = run(df, checkpoint=f"{name}.cp")
            feed.add({"id": number % 2, "time": time})
            stepper.step()
            stepper.stop()
        return state(spark, tmp_path / f"{name}.cp", **options)

    with stock(spark):
        expected = kept("stock")
    assert expected
    assert kept("tidemark") == expected


@pytest.mark.more
def test_two_queries_on_one_dataframe_have_separate_watermarks(
    spark: SparkSession, tmp_path: Path, run: Callable[..., Stepper]
) -> None:
    def outcomes(name: str) -> list[list[Row]]:
        feed = Feed(spark, tmp_path / name, SCHEMA)
        df = feed.stream().withWatermark("time", "5 minutes")
        first, second = windows(df).select("id", "count"), distinct(df)
        feed.add({"id": 1, "time": "10:00"})
        first_run = run(first, checkpoint=f"{name}.one")
        out = [first_run.step()]
        feed.add({"id": 1, "time": "10:40"})
        out.append(first_run.step())
        # The second query begins later on the same DataFrame. Its first row is not late there.
        second_run = run(second.select("id"), checkpoint=f"{name}.two")
        out.append(second_run.step())
        feed.add({"id": 2, "time": "10:01"}, {"id": 2, "time": "10:41"})
        out += [first_run.step(), second_run.step()]
        first_run.stop()
        feed.add({"id": 3, "time": "12:00"})
        out += [second_run.step(), run(first, checkpoint=f"{name}.one").step()]
        return out

    with stock(spark):
        expected = outcomes("stock")
    assert outcomes("tidemark") == expected
    assert expected[2] == [(1,), (1,)]
