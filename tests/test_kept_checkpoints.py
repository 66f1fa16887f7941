"""Queries go on with checkpoints that other versions of Spark made, alone or with Tidemark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from support import kept
from support.streams import Row, Stepper

SPARK = tuple(int(part) for part in pyspark.__version__.split(".")[:2])


@contextmanager
def stock(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.tidemark.enabled", "false")
    try:
        yield
    finally:
        spark.conf.unset("spark.tidemark.enabled")


def run(
    spark: SparkSession,
    folder: Path,
    query: str,
    mark: kept.Mark,
    steps: kept.Steps,
    name: str | None = None,
) -> list[list[Row]]:
    """What comes out of each step, of a query that goes on with a kept checkpoint or begins anew."""
    inputs = kept.Inputs(spark, folder / "input")
    if name:
        kept.unpack(name, folder / "checkpoints")
    stepper = Stepper(kept.QUERIES[query](inputs, mark), "append", folder / "checkpoints" / query)
    out = []
    try:
        for step in steps:
            inputs.add(step)
            out.append(stepper.step())
    finally:
        stepper.stop()
    return out


def readable(whom: str) -> list[str]:
    return [name for name in kept.made_by(whom) if kept.last_spark(name) <= SPARK]


def some(names: list[str]) -> list[tuple[str, str]]:
    """All queries with the oldest checkpoint, one with every other: they take minutes as it is."""
    return [
        (name, query)
        for name in names
        for query in kept.QUERIES
        if name == names[0] or query == "joined_windows"
    ]


STOCK = [(name, query) for name, query in some(readable("stock")) if query not in kept.KEYED_ONLY]


def test_checkpoints_of_every_spark_are_kept() -> None:
    minors = [(4, 0), (4, 1), (4, 2), (4, 3)]
    assert [kept.last_spark(name) for name in kept.made_by("stock")] == minors


@pytest.mark.parametrize(("name", "query"), STOCK)
def test_what_spark_alone_has_begun_loses_nothing(
    spark: SparkSession, tmp_path: Path, name: str, query: str
) -> None:
    ours = run(spark, tmp_path / "ours", query, kept.by_spark, kept.AFTER, name)
    with stock(spark):
        theirs = run(spark, tmp_path / "theirs", query, kept.by_spark, kept.AFTER, name)
    rows = [sorted((row for step in out for row in step), key=repr) for out in (ours, theirs)]
    assert rows[0] == rows[1]
    assert rows[0]


@pytest.mark.parametrize(("name", "query"), some(kept.made_by("tidemark")))
def test_what_tidemark_has_begun_goes_on_as_if_nothing_had_been(
    spark: SparkSession, tmp_path: Path, name: str, query: str
) -> None:
    if kept.last_spark(name) > SPARK and SPARK < (4, 2):
        pytest.skip("this Spark cannot read the state of that one")
    done = 1 if "-then-" in name else 0
    mark = kept.by_tidemark
    whole = run(spark, tmp_path / "whole", query, mark, kept.BEFORE + kept.AFTER)
    parted = run(spark, tmp_path / "parted", query, mark, kept.AFTER[done:], name)
    assert parted == whole[len(kept.BEFORE) + done :]
