"""Compares the engine with the reference model: out-of-order rows, each split at its own pace."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.backlog import files_per_airport, flights, oracle, promise, show

from backlog.query import hourly
from backlog.replay import replay

pytestmark = pytest.mark.more

FIRST = datetime(2001, 1, 1)
PACE = {"ORD": 12, "ATL": 9, "MCO": 2}
"""Flights per hour. All files have the same number of flights, so small airports run ahead."""


def shuffled(seed: int) -> files_per_airport.Files:
    """Flights in the order in which they are reported: most of them promptly, some hours later."""
    chance = random.Random(seed)
    arrivals = [
        (time + timedelta(hours=chance.expovariate(1 / 3)), flights.Flight(time, origin, "SFO", 0))
        for origin, pace in PACE.items()
        for time in (FIRST + timedelta(hours=n / pace) for n in range(600))
    ]
    return files_per_airport.files_of([flight for _, flight in sorted(arrivals)], len(PACE), 40)


@pytest.mark.classic
@pytest.mark.usefixtures("one_partition")
def test_a_query_with_splits_emits_exactly_the_rows_the_reference_model_predicts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_per_airport, "AIRPORTS", len(PACE))
    case, files = files_per_airport.CASE, shuffled(1)
    batches = files_per_airport.in_batches(files)
    rule, read = oracle.tell(batches, oracle.by_the_oldest), show.rows_of(batches)
    # The comparison proves something only if the reference model loses rows.
    assert sum(rule.lost(read).values()) > 10

    folder = files_per_airport.prepare(files, tmp_path / "files")
    counts = hourly(case.read(spark, str(folder)), case, "tidemark")
    engine = replay(spark, counts, tmp_path / "checkpoint", lambda: None)
    assert list(promise.differences("Tidemark", engine, rule)) == []
