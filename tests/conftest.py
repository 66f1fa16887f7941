"""One Spark session with Tidemark for the whole run, and what the tests build on.

Tests that need a Spark started in some other way start a process of their own (`scripts/`).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.feeds import Feed
from support.streams import Stepper

import tidemark


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: starts several processes")
    # Python shows Spark's timestamps in the machine's zone; the tests think in UTC.
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Functions in Python run where pandas is.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # These JVMs are short-lived: the second, slower compiler only takes processor time from them.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("tidemark-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        # Only to be quick: the tests never wait for a poll or for old state to be cleaned up.
        .config("spark.sql.streaming.pollingDelay", "10ms")
        .config("spark.sql.streaming.fileSource.log.compactInterval", "1000")
    )
    session = tidemark.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Callable[..., Feed]:
    """Makes input folders: `feed("orders", "id LONG, order_time TIMESTAMP")`."""

    def make(name: str, schema: str) -> Feed:
        return Feed(spark, tmp_path / name, schema)

    return make


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Stepper]]:
    """Starts queries that are driven step by step, and stops them after the test."""
    started: list[Stepper] = []

    def start(df: DataFrame, *, mode: str = "append", checkpoint: str = "checkpoint") -> Stepper:
        stepper = Stepper(df, mode, tmp_path / checkpoint)
        started.append(stepper)
        return stepper

    yield start
    for stepper in started:
        stepper.stop()


@pytest.fixture
def one_partition(spark: SparkSession) -> Iterator[None]:
    """For tests that compare many small queries: half the state files, half the time."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", str(before))
