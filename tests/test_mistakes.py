"""Mistakes that people make: each is told by name, in one sentence first, with the way out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import IllegalArgumentException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import Stepper, refusal, run_once

import tidemark
from tidemark import TidemarkError, with_watermark

SCHEMA = "id LONG, time TIMESTAMP"
Feeds = Callable[..., Feed]
Run = Callable[..., Stepper]


@pytest.fixture
def events(feed: Feeds) -> DataFrame:
    return feed("events", f"{SCHEMA}, kinds ARRAY<STRING>, seen STRUCT<at: TIMESTAMP>").stream()


@contextlib.contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name)


def told(df: DataFrame, column: Any = "time", delay: Any = "1 minute", **options: Any) -> str:
    with pytest.raises(TidemarkError) as caught:
        with_watermark(df, column, delay, **options)
    return str(caught.value)


def test_what_the_engine_refuses_is_one_of_pysparks_errors_and_says_it_first(
    events: DataFrame, tmp_path: Path, spark: SparkSession
) -> None:
    refusals: list[Callable[[], object]] = [
        lambda: events.select(tidemark.is_late("time")).columns,
        lambda: tidemark.log(tmp_path).columns,
        lambda: spark.sql("SELECT tidemark_event_time(now(), '{\"colour\": 1}')").columns,
    ]
    for action in refusals:
        with pytest.raises(PySparkException) as caught:
            action()
        assert isinstance(caught.value, IllegalArgumentException)
        said = str(caught.value).splitlines()
        assert said[0].startswith("[TIDEMARK.")
        assert "Fix this by " in said[0]
        assert len(said) < 5
