"""The input that each batch reads in the two backlog examples."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from support.backlog import files_per_airport, flights_from, lagging_partition, quota

FIRST = datetime(2001, 1, 1)
MANY, FEW, NONE = "ORD", "MCO", "XXX"
FLIGHTS = sorted(
    [*flights_from(MANY, 7, FIRST), *flights_from(FEW, 3, FIRST), *flights_from(NONE, 1, FIRST)]
)


def test_every_selected_airport_gets_as_many_files_as_the_busiest_airport() -> None:
    files = files_per_airport.files_of(FLIGHTS, airports=2, rows=2)
    assert {origin: [len(file) for file in of] for origin, of in files.items()} == {
        MANY: [2, 2, 2, 1],
        FEW: [2, 1, 0, 0],
    }


def test_each_batch_reads_the_next_file_of_every_airport() -> None:
    files = files_per_airport.files_of(FLIGHTS, airports=2, rows=2)
    batches = files_per_airport.in_batches(files)
    assert [{origin: len(rows) for origin, rows in batch.items()} for batch in batches] == [
        {MANY: 2, FEW: 2},
        {MANY: 2, FEW: 1},
        {MANY: 2, FEW: 0},
        {MANY: 1, FEW: 0},
    ]


def test_file_modification_times_follow_the_batch_order(tmp_path: Path) -> None:
    files = files_per_airport.files_of(FLIGHTS, airports=2, rows=4)
    folder = files_per_airport.prepare(files, tmp_path / "files")
    dated = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)
    assert [file.name for file in dated] == [
        "00-ORD.json",
        "00-MCO.json",
        "01-ORD.json",
        "01-MCO.json",
    ]
    assert len({file.stat().st_mtime for file in dated}) == 4
    assert [len(file.read_text().splitlines()) for file in dated] == [4, 3, 3, 0]


def test_the_busiest_partition_holds_a_month_of_rows_and_the_others_hold_a_week() -> None:
    month = timedelta(days=30) // timedelta(hours=1)
    flights = sorted([*flights_from(MANY, month, FIRST), *flights_from(FEW, month - 1, FIRST)])
    partitions = lagging_partition.partitions_of(flights)
    lagging, other = (
        lagging_partition.partition_of(flights_from(origin, 1, FIRST)[0]) for origin in (MANY, FEW)
    )
    assert lagging != other
    assert len(partitions[lagging]) == month
    assert partitions[other][0].time == lagging_partition.LAST_WEEK


def test_each_batch_reads_every_partition_in_time_order() -> None:
    partitions = [flights_from(MANY, 6000, FIRST), flights_from(FEW, 3000, FIRST)]
    batches = lagging_partition.in_batches(partitions)
    assert [[len(batch[0]), len(batch[1])] for batch in batches] == [[3333, 1666], [2667, 1334]]
    for partition in (0, 1):
        times = [time for batch in batches for time in batch[partition]]
        assert times == sorted(times)


def test_each_partition_gets_a_quota_in_proportion_to_its_backlog() -> None:
    assert quota.shares([400, 100, 0], 50) == [40, 10, 0]
    assert quota.shares([5, 3], 50) == [5, 3]


@pytest.mark.parametrize("waiting", [[1, 1, 10_000], [0, 0], [7], [999, 1001, 1]])
def test_all_batches_together_read_the_whole_backlog(waiting: list[int]) -> None:
    taken = list(quota.batches(waiting, 100))
    assert [sum(of) for of in zip(*taken, strict=True)] == (waiting if taken else [])
    assert all(any(batch) for batch in taken)
