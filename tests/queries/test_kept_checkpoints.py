"""Queries continue from stored checkpoints of other Spark versions, with and without Tidemark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from support import kept
from support.streams import Row, Stepper, stock

pytestmark = pytest.mark.more

SPARK = tuple(int(part) for part in pyspark.__version__.split(".")[:2])


@pytest.fixture
def going(
    spark: SparkSession, run: Callable[..., Stepper], tmp_path: Path
) -> Callable[..., list[list[Row]]]:
    """The rows of each step, emitted by a query with a stored checkpoint or with a new one."""

    def go(
        who: str, query: str, mark: kept.Mark, steps: kept.Steps, name: str | None = None
    ) -> list[list[Row]]:
        inputs = kept.Inputs(spark, tmp_path / who / "input")
        if name:
            kept.unpack(name, tmp_path / who)
        stepper = run(kept.QUERIES[query](inputs, mark), checkpoint=f"{who}/{query}")
        out = []
        for step in steps:
            inputs.add(step)
            out.append(stepper.step())
        return out

    return go


def readable(whom: str) -> list[str]:
    return [name for name in kept.made_by(whom) if kept.last_spark(name) <= SPARK]


def some(names: list[str]) -> list[tuple[str, str]]:
    """All queries with the oldest checkpoint, one query with each other: more would take too long."""
    return [
        (name, query)
        for name in names
        for query in kept.QUERIES
        if name == names[0] or query == "joined_windows"
    ]


STOCK = [(name, query) for name, query in some(readable("stock")) if query not in kept.KEYED_ONLY]


def test_the_repository_has_a_stock_checkpoint_from_every_supported_spark() -> None:
    minors = [(4, 0), (4, 1), (4, 2), (4, 3)]
    assert [kept.last_spark(name) for name in kept.made_by("stock")] == minors


@pytest.mark.parametrize(("name", "query"), STOCK)
def test_tidemark_continues_a_stock_spark_checkpoint_without_losing_rows(
    spark: SparkSession, going: Callable[..., list[list[Row]]], name: str, query: str
) -> None:
    ours = going("ours", query, kept.by_spark, kept.AFTER, name)
    with stock(spark):
        theirs = going("theirs", query, kept.by_spark, kept.AFTER, name)
    rows = [sorted((row for step in out for row in step), key=repr) for out in (ours, theirs)]
    assert rows[0] == rows[1]
    assert rows[0]


@pytest.mark.parametrize(("name", "query"), some(kept.made_by("tidemark")))
def test_a_restart_from_a_stored_tidemark_checkpoint_emits_the_same_batches(
    going: Callable[..., list[list[Row]]], name: str, query: str
) -> None:
    if kept.last_spark(name) > SPARK and SPARK < (4, 2):
        pytest.skip("this Spark cannot read the state of that one")
    done = 1 if "-then-" in name else 0
    mark = kept.by_tidemark
    whole = going("whole", query, mark, kept.BEFORE + kept.AFTER)
    parted = going("parted", query, mark, kept.AFTER[done:], name)
    assert parted == whole[len(kept.BEFORE) + done :]
