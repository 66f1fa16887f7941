"""Queries whose checkpoints are stored in `tests/checkpoints`, and their input before and after.

The stored checkpoints belong to exactly these queries and this input. After a change to them, all checkpoints
must be created again, and no test shows any longer that old ones can be read. So add, and do not change.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark import with_watermark

from .feeds import Feed

FOLDER = Path(__file__).parents[1] / "checkpoints"

Steps = list[dict[str, list[tuple[int, str]]]]

# Input a is two hours ahead of b, which holds Spark's watermark.
BEFORE: Steps = [
    {"a": [(1, "10:00"), (1, "10:00"), (2, "10:40"), (3, "12:00")], "b": [(1, "10:10")]},
    {"a": [(4, "12:05")], "b": [(2, "10:20"), (2, "10:20"), (9, "10:30")]},
]
# In order, except for rows that are on time only if each input has its own watermark.
AFTER: Steps = [
    {"a": [(5, "12:20")], "b": [(2, "10:50"), (5, "11:00")]},
    {"b": [(3, "12:10"), (5, "12:25")]},
    {"a": [(6, "14:00")], "b": [(6, "14:00")]},
]


class Inputs:
    """Two folders of JSON files, `a` and `b`."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._folder = folder
        self._feeds = {
            name: Feed(spark, folder / name, f"{name} LONG, t{name} TIMESTAMP") for name in "ab"
        }

    def plain(self, name: str) -> DataFrame:
        return self._feeds[name].stream()

    def add(self, step: dict[str, list[tuple[int, str]]]) -> None:
        for name, rows in step.items():
            self._feeds[name].add(*({name: number, f"t{name}": time} for number, time in rows))

    def make_old(self) -> None:
        """Makes these files the oldest: Spark skips files that are much older than those it has seen."""
        for file in self._folder.glob("*/*.json"):
            os.utime(file, (0, int(file.stem)))


Mark = Callable[[DataFrame, str], DataFrame]
Query = Callable[[Inputs, Mark], DataFrame]


def _hours(df: DataFrame, name: str) -> DataFrame:
    counted = df.groupBy(F.window(f"t{name}", "1 hour")).count()
    return counted.select(F.lit(name).alias("of"), "window.start", "count")


def _near() -> Column:
    return F.expr("a = b AND tb BETWEEN ta - INTERVAL 30 MINUTES AND ta + INTERVAL 30 MINUTES")


def windows(inputs: Inputs, mark: Mark) -> DataFrame:
    a, b = (mark(inputs.plain(name), name) for name in "ab")
    return _hours(a, "a").union(_hours(b, "b"))


def joined(inputs: Inputs, mark: Mark) -> DataFrame:
    a, b = (mark(inputs.plain(name), name) for name in "ab")
    return a.join(b, _near(), "full_outer")


def joined_windows(inputs: Inputs, mark: Mark) -> DataFrame:
    a, b = (mark(inputs.plain(name), name) for name in "ab")
    return _hours(a.join(b, _near(), "left_outer"), "a")


def distinct(inputs: Inputs, mark: Mark) -> DataFrame:
    a, b = (mark(inputs.plain(n), n).dropDuplicates([n, f"t{n}"]) for n in "ab")
    return a.union(b)


def distinct_within(inputs: Inputs, mark: Mark) -> DataFrame:
    return mark(inputs.plain("b"), "b").dropDuplicatesWithinWatermark(["b"])


def sessions(inputs: Inputs, mark: Mark) -> DataFrame:
    marked = mark(inputs.plain("b"), "b")
    counted = marked.groupBy(F.session_window("tb", "20 minutes").alias("w"), "b").count()
    return counted.select("b", "w.start", "w.end", "count")


def carried(inputs: Inputs, mark: Mark) -> DataFrame:
    """Stock Spark refuses this query: an aggregation can have only one event-time column."""
    a, b = (mark(inputs.plain(name), name) for name in "ab")
    # No sum of counts: Spark 4.3 merges the two into one aggregation, and the stored state does not fit.
    by_both = (
        a.join(b, _near()).groupBy(F.window("ta", "20 minutes"), "tb").agg(F.sum("a").alias("n"))
    )
    return (
        by_both.groupBy(F.window("tb", "1 hour")).agg(F.sum("n")).select("window.start", "sum(n)")
    )


def by_spark(df: DataFrame, name: str) -> DataFrame:
    return df.withWatermark(f"t{name}", "10 minutes")


def by_tidemark(df: DataFrame, name: str) -> DataFrame:
    splits = F.col(name) % 2 if name == "b" else None
    return with_watermark(
        df, f"t{name}", "10 minutes", key=name, split_by=splits, idle_after="1 day"
    )


QUERIES: dict[str, Query] = {
    query.__name__: query
    for query in (windows, joined, joined_windows, distinct, distinct_within, sessions, carried)
}
KEYED_ONLY = {"carried"}


def made_by(whom: str) -> list[str]:
    """Names of the stored checkpoints of `stock` or `tidemark`."""
    return sorted(file.name.removesuffix(".tar.xz") for file in FOLDER.glob(f"{whom}-*.tar.xz"))


def last_spark(name: str) -> tuple[int, ...]:
    """The minor version of Spark that ran a stored checkpoint last."""
    return tuple(int(part) for part in name.rsplit("-", 1)[1].split("."))


def unpack(name: str, folder: Path) -> None:
    shutil.unpack_archive(FOLDER / f"{name}.tar.xz", folder)
