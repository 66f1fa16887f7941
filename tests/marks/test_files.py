"""Files of a mark log: where they are, when they are sealed and purged, and what a disk refuses."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from support.marks import code_of, kinds, line, log_at, lower, no_sync, put, refused

from tidemark import TidemarkError
from tidemark.marks import FilesPosition, Marks, NumberPosition

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def test_many_marks_are_sealed_in_files_that_never_change(tmp_path: Path) -> None:
    log = log_at(tmp_path, 0)
    with log.writer("w") as writer:
        for number in range(1, 600):
            writer.note_time(number, NumberPosition(number))
        writer.end()
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["w.0.0-255.marks", "w.0.0.marks", "w.0.1.marks", "w.0.256-511.marks"]
    assert [mark.number for mark in log.read().marks] == list(range(601))


def test_large_marks_are_sealed_early(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")
    for number in range(6):
        writer.note_time(number, files=[f"{number}-{'x' * 200}-{i}" for i in range(1000)])
    assert max(file.stat().st_size for file in tmp_path.iterdir()) < 1_000_000
    assert len(log.cut_at(5).files) == 6000


def test_a_writer_removes_marks_beyond_its_retention(tmp_path: Path) -> None:
    now = [0]
    log = Marks(tmp_path, clock=lambda: now[0], max_ahead=None)
    writer = log.writer("w", retain=timedelta(seconds=1))
    for number in range(1, 1100):
        now[0] = number
        writer.note_time(number, files=[str(number)])
    assert log.read().marks[0].number == 0
    for number in range(1100, 1800):
        now[0] = number
        writer.note_time(number, files=[str(number)])
    # Nothing says which files the purged marks had, so they hold until nothing is left to read.
    assert log.read().marks[0].number == 768
    read = FilesPosition(frozenset(map(str, range(500, 1701))))
    assert log.window(read).lower_millis is None
    assert log.window(read, is_at_end=True).lower_millis == 1700


def test_a_mark_of_more_than_a_megabyte_is_refused_and_the_next_one_is_written(
    tmp_path: Path,
) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")
    with pytest.raises(TidemarkError) as error:
        writer.note_time(1, files=[f"{i}-{'x' * 200}" for i in range(9000)])
    assert code_of(error) == "MARK_TOO_LONG"
    writer.note_time(1, files=["a"])
    assert [mark.number for mark in log.read().marks] == [0, 1]


def test_a_mark_that_could_not_be_written_comes_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(TidemarkError) as error:
            writer.note_time(100, files=["a"])
    assert code_of(error) == "MARK_NOT_WRITTEN"
    assert error.value.parameters["reason"] == "No space left on device"
    writer.note_time(200, files=["b"])
    assert kinds(log) == [("alive", None), ("note", 100), ("note", 200)]
    assert log.cut_at(200).files == {"a", "b"}


@pytest.mark.parametrize("failing", ["listdir", "stat"])
def test_a_log_that_cannot_be_looked_at_is_an_error_with_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, fail)
        with pytest.raises(TidemarkError) as error:
            writer.note_time(1, NumberPosition(1))
        assert code_of(error) == "MARK_NOT_WRITTEN"
        if failing == "listdir":
            for ask in (log.read, log.watermark, lambda: log.cut_at(1), lambda: log.purge(1)):
                with pytest.raises(TidemarkError) as error:
                    ask()
                assert code_of(error) == "MARK_LOG_NOT_READ"
                assert error.value.parameters["reason"] == "Permission denied"
    writer.note_time(2, NumberPosition(2))


def test_a_log_is_durable_in_the_folders_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(os.readlink(f"/proc/self/fd/{file}"))
    )
    log_at(tmp_path / "a" / "b").writer("w")
    assert {str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")} <= set(synced)


@pytest.mark.parametrize(
    "location", ["", "s3://bucket/x", "kafka:marks", "hdfs://x/y", None, 7, "a\0b", "file://host/x"]
)
def test_a_location_that_is_not_local_is_refused(location: object) -> None:
    with pytest.raises(TidemarkError) as error:
        Marks(location)  # type: ignore[arg-type]
    assert code_of(error) == "INVALID_OPTION"


def test_a_location_may_be_a_uri(tmp_path: Path) -> None:
    assert Marks(f"file://{tmp_path}/a%20b").location == f"{tmp_path}/a b"
    assert Marks(tmp_path).location == str(tmp_path)


def test_files_of_others_in_the_folder_do_no_harm(tmp_path: Path) -> None:
    put(tmp_path, [{"t": 100, "p": {"number": 1}}])
    (tmp_path / "w.1.1.marks").mkdir()
    (tmp_path / "README").write_text("hello")
    (tmp_path / ".w.1.0.marks.1.tmp").write_text(line({"v": 1}))
    (tmp_path / "w.2.0.marks").write_bytes(bytes(range(256)) * 100)
    assert lower(log_at(tmp_path)) == 100


def test_purging_removes_what_dead_writers_have_left(tmp_path: Path) -> None:
    now = [1000]
    log = Marks(tmp_path, clock=lambda: now[0])
    dead = log.writer("dead")
    dead.note_time(1, NumberPosition(1))
    (tmp_path / "never.1500.0.marks").write_bytes(b"")
    now[0] = 2000
    log.writer("eu").note_time(2, NumberPosition(2))
    assert lower(log) == 1
    assert log.purge(1000) == 0
    assert log.purge(1500) == 2
    assert log.purge(2000) == 1
    assert {mark.writer for mark in log.read().marks} == {"eu"}
    with pytest.raises(TidemarkError) as error:
        dead.alive()
    assert refused(error) == ("MARK_WRITER_FENCED", "dead")


def test_a_reader_sees_every_mark_while_a_writer_seals(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    with log.writer("w") as writer:
        for number in range(1, 1200):
            writer.note_time(number, files=[str(number)])
            if number % 60 == 0 or number % 256 in (0, 1, 255):
                assert len(log.read().marks) == number + 1
