"""Queries on rows with an `id` and a `time`, which several tests run on both engines."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

Query = Callable[[DataFrame], DataFrame]


def distinct(df: DataFrame) -> DataFrame:
    return df.dropDuplicates(["id", "time"])


def distinct_for_a_while(df: DataFrame) -> DataFrame:
    return df.dropDuplicatesWithinWatermark(["id"])
