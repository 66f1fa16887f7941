"""One reading is one moment of a log: no mark is taken without the writers that existed before it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from support.marks import log_at, lower, no_sync
from support.topics import FakeTopic

from tidemark.marks import Marks, MarkWriter, NumberPosition
from tidemark_marks._protocol.files import Folder
from tidemark_marks._reading import log as folder_log
from tidemark_marks._reading.rules import histories

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


class BusyFolder(Folder):
    """A folder where something happens after each listing."""

    def __init__(self, path: str, happens: Iterator[Callable[[], object]]) -> None:
        super().__init__(path)
        self.happens = happens
        self.listings = 0

    def names(self, prefix: str = "") -> list[str]:
        found = super().names(prefix)
        self.listings += 1
        next(self.happens, lambda: None)()
        return found


def busy(
    folder: Path, *happens: Callable[[], object], log: Marks | None = None
) -> tuple[Marks, BusyFolder]:
    log = log_at(folder) if log is None else log
    made = BusyFolder(str(folder), iter(happens))
    log._store._folder = made  # type: ignore[attr-defined]
    return log, made


@pytest.fixture
def eu(tmp_path: Path) -> MarkWriter:
    writer = log_at(tmp_path).writer("eu")
    writer.note_time(100, NumberPosition(1))
    return writer


def test_a_writer_that_opens_before_a_mark_is_read_holds_it(tmp_path: Path, eu: MarkWriter) -> None:
    def opens() -> None:
        log_at(tmp_path).writer("us")
        eu.note_time(200, NumberPosition(2))

    log, _ = busy(tmp_path, opens)
    assert not log.is_complete(200)
    assert log.watermark() is None


def test_a_writer_that_opens_while_another_new_one_is_read_is_found(
    tmp_path: Path, eu: MarkWriter
) -> None:
    def first() -> None:
        log_at(tmp_path).writer("us").note_time(150, NumberPosition(2))

    def second() -> None:
        log_at(tmp_path).writer("asia").note_time(50, NumberPosition(3))

    log, folder = busy(tmp_path, first, second)
    assert lower(log) == 50
    assert folder.listings == 4


def test_writers_that_never_stop_opening_count_by_their_names(
    tmp_path: Path, eu: MarkWriter
) -> None:
    names = iter(range(100))

    def opens() -> None:
        log_at(tmp_path).writer(f"w{next(names)}").note_time(900, NumberPosition(9))

    log, folder = busy(tmp_path, *[opens] * 50)
    # Of the last writer it knows only the name, so that writer holds.
    assert log.watermark() is None
    assert folder.listings == 4
    assert lower(log_at(tmp_path)) == 100


def test_a_new_life_that_is_found_too_late_holds_its_writer(tmp_path: Path, eu: MarkWriter) -> None:
    us = log_at(tmp_path).writer("us")
    us.note_time(500, NumberPosition(2))

    def opens(name: str) -> Callable[[], object]:
        return lambda: log_at(tmp_path).writer(name).note_time(900, NumberPosition(9))

    log, _ = busy(tmp_path, opens("a"), opens("b"), opens("us"))
    assert log.watermark() is None


@pytest.mark.parametrize("wrong_by", [-600_000, 600_000], ids=["slow", "fast"])
def test_a_new_life_that_is_found_too_late_is_as_old_as_its_file(
    tmp_path: Path, eu: MarkWriter, wrong_by: int
) -> None:
    host = Marks(tmp_path, clock=lambda: time.time_ns() // 1_000_000 + wrong_by)

    def opens(name: str) -> Callable[[], object]:
        return lambda: host.writer(name).note_time(900, NumberPosition(9))

    log, folder = busy(tmp_path, log=Marks(tmp_path, idle_after=timedelta(minutes=5)))
    folder.happens = iter([opens("a"), opens("b"), opens("late")])
    found = histories(folder_log.read(folder), None)
    files = {file.stat().st_mtime_ns // 1_000_000 for file in tmp_path.glob("late.*")}
    assert found["late"].last_active() in files
    # It has just begun, so it is not left out as one that has been silent.
    folder.happens = iter([opens("c"), opens("d"), opens("later")])
    assert not log.is_complete(100)


def test_a_log_where_nothing_happens_is_listed_twice(tmp_path: Path, eu: MarkWriter) -> None:
    log, folder = busy(tmp_path)
    assert lower(log) == 100
    assert folder.listings == 2


def test_a_mark_that_is_sealed_between_two_listings_is_read(tmp_path: Path) -> None:
    writer = log_at(tmp_path).writer("w")

    def notes() -> None:
        for _ in range(300):
            written.append(len(written))
            writer.note_time(len(written), files=[str(len(written))])

    written: list[int] = []
    log, _ = busy(tmp_path, notes, notes, notes)
    numbers = [mark.number for mark in log.read().marks]
    assert numbers == list(range(len(numbers))) and len(numbers) > 256


def test_a_writer_that_opens_in_one_partition_before_a_mark_in_another_holds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = FakeTopic(chooses=lambda key: int(key.endswith(b"eu")))
    monkeypatch.setattr("tidemark_marks._locations.KafkaTopic", lambda name, options: topic)

    def log() -> Marks:
        return Marks("kafka:marks", options={"bootstrap.servers": "nowhere:1"})

    eu = log().writer("eu")

    def opens() -> None:
        topic.between_ends = lambda: None
        log().writer("us")
        eu.note_time(100, NumberPosition(1))

    topic.between_ends = opens
    assert not log().is_complete(100)
