"""The Nexmark benchmark: the same input rows each time, and the same results as stock Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from nexmark import QUERIES, agree
from nexmark_data import ENDING, LATEST, LONGEST, STREAMS, Sizes, written
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

pytestmark = pytest.mark.more

SIZES = Sizes(batches=2, events=10_000)
REFUSED = {"q4 by both times": "MULTIPLE_EVENT_TIME_COLUMNS"}


@pytest.fixture(scope="module")
def house(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(spark, SIZES, tmp_path_factory.mktemp("nexmark"))


@pytest.fixture
def both_engines(spark: SparkSession, one_partition: None) -> Iterator[None]:
    yield
    spark.conf.unset("spark.tidemark.enabled")


def batches(spark: SparkSession, house: Path, stream: str) -> list[list[Row]]:
    files = sorted((house / stream).glob("*.parquet"), key=lambda file: file.stat().st_mtime)
    return [spark.read.parquet(str(file)).collect() for file in files]


@pytest.mark.parametrize("stream", STREAMS)
def test_generated_nexmark_rows_are_the_same_each_time(
    spark: SparkSession, house: Path, stream: str, tmp_path: Path
) -> None:
    second_run = written(spark, SIZES, tmp_path)
    assert second_run != house
    assert batches(spark, second_run, stream) == batches(spark, house, stream)


def test_existing_nexmark_files_are_not_rewritten(spark: SparkSession, house: Path) -> None:
    before = (house / "READY").stat().st_mtime_ns
    assert written(spark, SIZES, house.parent) == house
    assert (house / "READY").stat().st_mtime_ns == before


@pytest.mark.parametrize("stream", STREAMS)
def test_no_nexmark_row_exceeds_the_allowed_lateness(
    spark: SparkSession, house: Path, stream: str
) -> None:
    *full, ending = [
        [row[STREAMS[stream]] for row in rows] for rows in batches(spark, house, stream)
    ]
    assert sum(map(len, full)) == SIZES.rows(stream)
    first, second = full
    assert first != sorted(first)
    assert max(first) - min(second) < timedelta(seconds=LATEST)
    assert max(second) > max(first)
    assert min(ending) - max(second) > timedelta(seconds=ENDING - 1)


def test_most_bids_fall_within_their_auction_and_some_after_it_expires(
    spark: SparkSession, house: Path
) -> None:
    bids, auctions = (spark.read.parquet(str(house / name)) for name in ("bids", "auctions"))
    assert auctions.where(f"expires > opened + INTERVAL {LONGEST} SECONDS").isEmpty()
    made = bids.join(auctions, F.expr("auction = id"))
    assert made.count() > bids.count() * 0.8
    assert made.where("bid_at < opened").count() < made.count() / 10
    assert 0 < made.where("bid_at > expires").count() < made.count() / 2


@pytest.mark.classic
@pytest.mark.parametrize("name", QUERIES)
def test_nexmark_queries_emit_the_same_rows_as_stock_spark(
    spark: SparkSession, house: Path, name: str, both_engines: None
) -> None:
    refused = agree(spark, QUERIES[name], house)
    if not spark.version.startswith("4.3.") and "More than one event time column" in str(refused):
        # Earlier versions of Spark have no error condition for this.
        refused = "MULTIPLE_EVENT_TIME_COLUMNS"
    assert refused == REFUSED.get(name)
