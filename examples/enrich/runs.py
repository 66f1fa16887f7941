"""Runs the query with one of the ways: departures by hour and gate."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from . import service
from .flights import FILES
from .plan import Plan
from .ways import DEPARTURES, THREADS, Way

DELAY = "1 hour"
STARTS = 3
"""How often the query is started, should it fail."""


class Outcome(NamedTuple):
    """What came of a way."""

    seconds: float
    failures: list[str]
    """What the query has ended with, each time it failed."""
    is_refused: bool
    """Whether Spark has refused the windows, as it knew of no watermark there."""
    windows: dict[tuple[datetime, str], int]
    counts: service.Counts


def run(spark: SparkSession, folder: Path, checkpoint: Path, way: Way, plan: Plan) -> Outcome:
    """Runs the query on all files of a folder, with a service of its own."""
    windows: dict[tuple[datetime, str], int] = {}
    failures: list[str] = []

    def keep(batch: DataFrame, _: int) -> None:
        for hour, gate, count in batch.collect():
            windows[datetime.fromisoformat(hour), gate] = count

    def start(enriched: DataFrame) -> StreamingQuery:
        writing = _hourly(enriched).writeStream.foreachBatch(keep).trigger(availableNow=True)
        return writing.option("checkpointLocation", str(checkpoint)).start()

    with service.running(plan) as address, _threads(spark, way.threads):
        rows = spark.readStream.schema(DEPARTURES).option("maxFilesPerTrigger", FILES)
        departures = rows.json(str(folder))
        enriched = way.enrich(departures.withWatermark("departure", DELAY), address)
        began = time.monotonic()
        is_refused = False
        for _ in range(STARTS):
            try:
                query = start(enriched)
            except AnalysisException:
                is_refused = True
                # Above it, and not below: stock Spark allows no second one.
                enriched = way.enrich(departures, address).withWatermark("departure", DELAY)
                query = start(enriched)
            try:
                query.awaitTermination()
                break
            except StreamingQueryException as error:
                failures.append(_cause(error))
        seconds = time.monotonic() - began
        return Outcome(seconds, failures, is_refused, windows, service.counts(address))


def _hourly(enriched: DataFrame) -> DataFrame:
    counts = enriched.groupBy(F.window("departure", "1 hour"), "gate").count()
    return counts.select(F.col("window.start").cast("string").alias("hour"), "gate", "count")


def _cause(error: StreamingQueryException) -> str:
    """What a worker said last, such as `ServiceError: 429 too many requests`; else Spark's own words."""
    lines = [line.strip() for line in str(error).splitlines()]
    errors = [line for line in lines if "Error: " in line]
    return errors[-1] if errors else lines[0]


@contextmanager
def _threads(spark: SparkSession, threads: int | None) -> Iterator[None]:
    if threads is not None:
        spark.conf.set(THREADS, threads)
    try:
        yield
    finally:
        spark.conf.unset(THREADS)
