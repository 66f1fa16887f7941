"""Plans that evaluate a DataFrame of `map_async` twice: they make its calls twice, and with which ids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import Stepper

import tidemark

ROWS = 10
Use = Callable[[DataFrame], Any]


class Noted:
    """Calls that are noted in a file, with their ids."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add_to(self, df: DataFrame) -> DataFrame:
        path = str(self._path)

        async def noted(n: int) -> int:
            with open(path, "a") as file:
                file.write(f"{n} {tidemark.call_id()}\n")
            return n

        return tidemark.map_async(df, "call", noted, inputs="id", returns="LONG")

    def calls_and_ids(self) -> tuple[int, int]:
        lines = self._path.read_text().splitlines()
        self._path.unlink()
        numbers, ids = zip(*map(str.split, lines), strict=True)
        assert len(set(numbers)) == ROWS
        return len(lines), len(set(ids))


@pytest.fixture
def noted(tmp_path: Path) -> Noted:
    return Noted(tmp_path / "calls")


def joined_with_itself(df: DataFrame) -> DataFrame:
    both = df.alias("a").join(df.alias("b"), F.expr("a.id = b.id"))
    return both.select(F.col("a.call").alias("one"), F.col("b.call").alias("two"))


def with_its_maximum(df: DataFrame) -> DataFrame:
    return df.crossJoin(df.agg(F.max("call").alias("most")))


def repartitioned_and_united(df: DataFrame) -> DataFrame:
    once = df.repartition("id")
    return once.union(once)


@pytest.mark.parametrize(
    ("use", "calls", "ids"),
    [
        (lambda df: df.collect(), 1, 1),
        (lambda df: joined_with_itself(df).collect(), 2, 1),
        (lambda df: with_its_maximum(df).collect(), 2, 1),
        (lambda df: df.union(df).collect(), 2, 2),
        (lambda df: [part.collect() for part in df.randomSplit([0.5, 0.5], 7)], 2, 2),
        (lambda df: [df.collect(), df.collect()], 2, 2),
        (lambda df: repartitioned_and_united(df).collect(), 1, 1),
    ],
    ids=["once", "join", "aggregate", "union", "randomSplit", "two actions", "repartition"],
)
def test_a_plan_that_reads_a_batch_dataframe_twice_makes_its_calls_twice(
    spark: SparkSession, noted: Noted, use: Use, calls: int, ids: int
) -> None:
    use(noted.add_to(spark.range(0, ROWS, 1, 2)))
    assert noted.calls_and_ids() == (calls * ROWS, ids * ROWS)


def test_a_persisted_dataframe_makes_its_calls_once(spark: SparkSession, noted: Noted) -> None:
    called = noted.add_to(spark.range(0, ROWS, 1, 2)).persist()
    try:
        called.collect()
        called.union(called).collect()
        joined_with_itself(called).collect()
    finally:
        called.unpersist()
    assert noted.calls_and_ids() == (ROWS, ROWS)


@pytest.mark.classic
@pytest.mark.parametrize(
    "use",
    [
        lambda df: df.rdd.map(tuple).zipWithIndex().collect(),
        lambda df: [rdd.map(tuple).collect() for rdd in [df.rdd] * 2],
    ],
    ids=["zipWithIndex", "two actions"],
)
def test_each_job_of_an_rdd_makes_the_calls_again_with_the_same_ids(
    spark: SparkSession, noted: Noted, use: Use
) -> None:
    use(noted.add_to(spark.range(0, ROWS, 1, 2)))
    assert noted.calls_and_ids() == (2 * ROWS, ROWS)


@pytest.mark.parametrize(
    ("use", "calls", "ids"),
    [
        (lambda df: df.union(df), 2, 2),
        (joined_with_itself, 2, 1),
        # Spark reads the rows of a shuffle twice in a batch DataFrame only.
        (repartitioned_and_united, 2, 1),
    ],
    ids=["union", "join", "repartition"],
)
def test_a_stream_that_is_read_twice_in_one_plan_makes_its_calls_twice(
    feed: Callable[..., Feed],
    run: Callable[..., Stepper],
    noted: Noted,
    use: Use,
    calls: int,
    ids: int,
) -> None:
    rows = feed("orders", "id LONG, time TIMESTAMP")
    query = run(use(noted.add_to(rows.stream())))
    rows.add(*({"id": n, "time": "10:00"} for n in range(ROWS)))
    query.step()
    assert noted.calls_and_ids() == (calls * ROWS, ids * ROWS)
