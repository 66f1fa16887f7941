"""Event time after Python map functions: Tidemark and stock Spark agree on the event-time column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import Row, Stepper, stock

from tidemark import with_watermark

TIMES = ["10:00", "10:30", "11:00", "11:30", "12:00"]


def through_pandas(df: DataFrame) -> DataFrame:
    return df.mapInPandas(same(), df.schema)


def through_arrow(df: DataFrame) -> DataFrame:
    return df.mapInArrow(same(), df.schema)


def same() -> Callable[[Iterator[Any]], Iterator[Any]]:
    # A nested function is sent to the workers by value: they cannot import a test module.
    def pieces_as_they_are(pieces: Iterator[Any]) -> Iterator[Any]:
        yield from pieces

    return pieces_as_they_are


@pytest.mark.usefixtures("one_partition")
@pytest.mark.parametrize(
    ("sides", "mapped"),
    [
        pytest.param(1, through_pandas, marks=pytest.mark.more),
        pytest.param(2, through_pandas, marks=pytest.mark.more),
        (1, through_arrow),
        pytest.param(2, through_arrow, marks=pytest.mark.more),
    ],
)
def test_an_outer_join_after_a_python_map_matches_stock_spark(
    spark: SparkSession,
    tmp_path: Path,
    run: Callable[..., Stepper],
    sides: int,
    mapped: Callable[[DataFrame], DataFrame],
) -> None:
    def outcome(name: str) -> tuple[list[list[Row]], int]:
        inputs = [Feed(spark, tmp_path / name / side, "k LONG, t TIMESTAMP") for side in "lr"]
        left, right = (feed.stream().withWatermark("t", "0 seconds") for feed in inputs)
        left, right = mapped(left), mapped(right) if sides == 2 else right
        near = F.expr(
            "l.k = r.k AND r.t BETWEEN l.t - INTERVAL 10 MINUTES AND l.t + INTERVAL 10 MINUTES"
        )
        joined = left.alias("l").join(right.alias("r"), near, "left_outer")
        stepper = run(joined.select("l.k", "r.t"), checkpoint=f"{name}.cp")
        for step, time in enumerate(TIMES):
            inputs[0].add({"k": step, "t": time})
            inputs[1].add({"k": 100 + step, "t": time})
            stepper.step()
        stepper.stop()
        # A trigger between the two inputs makes one more batch, without rows.
        return [batch for batch in stepper.batches if batch], stepper.state_rows()

    with stock(spark):
        expected = outcome("stock")
    assert len([row for batch in expected[0] for row in batch]) == 4
    assert expected[1] == 2
    assert outcome("tidemark") == expected


@pytest.mark.usefixtures("one_partition")
def test_an_idle_input_after_a_python_map_does_not_hold_back_a_union(
    spark: SparkSession, tmp_path: Path, run: Callable[..., Stepper]
) -> None:
    silent, loud = (Feed(spark, tmp_path / name, "k LONG, t TIMESTAMP") for name in "ab")
    a = with_watermark(silent.stream(), "t", "0 seconds", key="a", idle_after="1 second")
    b = with_watermark(loud.stream(), "t", "0 seconds", key="b")
    counts = through_pandas(a).union(b).groupBy(F.window("t", "10 minutes")).count()
    stepper = run(counts.select("count"))
    silent.add({"k": 1, "t": "10:00"})
    loud.add({"k": 1, "t": "10:00"}, {"k": 2, "t": "10:45"})
    stepper.step_until(lambda out: out == [(2,)])
    silent.add({"k": 2, "t": "10:50"})
    loud.add({"k": 3, "t": "11:05"})
    assert stepper.step_until(lambda out: len(out) == 2) == [(1,), (1,)]
