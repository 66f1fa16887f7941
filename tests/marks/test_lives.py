"""Lives of a writer: a new one follows the one before, seals what it has left, and replaces it."""

from __future__ import annotations

import os
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from support.marks import code_of, kinds, log_at, lower, no_sync
from support.raising import raising

from tidemark import TidemarkError
from tidemark.marks import FilesPosition, Marks, MarkWriter, NumberPosition
from tidemark_marks._protocol.files import Folder
from tidemark_marks._writing.life import Life

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def test_a_new_life_follows_the_last_mark_of_the_life_before(tmp_path: Path) -> None:
    first = log_at(tmp_path, 1000).writer("w")
    first.note_time(100, NumberPosition(1))
    # The clock has gone back, and the epoch rises nevertheless.
    second = log_at(tmp_path, 500).writer("w")
    assert (first.epoch, second.epoch) == (1000, 1001)
    second.note_time(200, NumberPosition(2))
    marks = log_at(tmp_path).read().marks
    assert [mark.place for mark in marks] == [(1000, 0), (1000, 1), (1001, 0), (1001, 1)]
    assert [mark.after for mark in marks] == [None, None, (1000, 1), None]
    with pytest.raises(TidemarkError) as error:
        second.note_time(99, NumberPosition(3))
    assert code_of(error) == "MARK_GOES_BACK"


def test_a_new_life_seals_what_the_life_before_has_left(tmp_path: Path) -> None:
    log = log_at(tmp_path, 7)
    for life in range(3):
        writer = log.writer("w")
        for number in range(3):
            writer.note_time(life * 10 + number, files=[f"{life}-{number}"])
    files = sorted(file.name for file in tmp_path.iterdir())
    assert files == ["w.7.0-3.marks", "w.8.0-3.marks", "w.9.0.marks", "w.9.1.marks"]
    assert len(log.cut_at(22).files) == 9


def test_a_writer_that_was_replaced_is_told_and_its_marks_do_not_count(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    old = log.writer("w")
    old.note_time(100, NumberPosition(10))
    new = log.writer("w")
    with pytest.raises(TidemarkError) as error:
        old.note_time(900, NumberPosition(11))
    assert code_of(error) == "MARK_WRITER_FENCED"
    # One that does not look, as another program may not.
    (tmp_path / "w.0.1.marks").write_bytes(b"")
    old._life._is_overtaken = False
    old._life.add(log.read().marks[1]._replace(number=2, time_millis=900))
    assert ("note", 900) in kinds(log)
    new.note_time(200, NumberPosition(20))
    window = log.window(NumberPosition(15))
    assert (window.lower_millis, window.upper_millis) == (100, 200)


def test_what_a_fenced_life_wrote_too_late_does_not_bind_later_lives(tmp_path: Path) -> None:
    old = log_at(tmp_path, 1).writer("w")
    new = log_at(tmp_path, 2).writer("w")
    new.note_time(200, NumberPosition(20))
    new.end()
    log_at(tmp_path, 3).writer("w").close()
    # It had looked before the second life began.
    late = (
        log_at(tmp_path)
        .read()
        .marks[0]
        ._replace(epoch=1, number=1, kind="note", time_millis=900, position_text='{"number":90}')
    )
    old._life.add(late)
    last = log_at(tmp_path, 4).writer("w")
    last.note_time(300, NumberPosition(30))
    with pytest.raises(TidemarkError) as error:
        last.note_time(299, NumberPosition(30))
    assert code_of(error) == "MARK_GOES_BACK"


def test_what_a_fenced_life_wrote_too_late_is_not_kept_in_place_of_what_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemark_marks._writing.life.MOST_LIVE", 2)
    log_at(tmp_path, 1).writer("w").note_time(200, NumberPosition(20))
    old = log_at(tmp_path, 2).writer("w")
    later = log_at(tmp_path, 10**9).writer("w", retain=timedelta(milliseconds=1))
    late = log_at(tmp_path).read().marks[1]._replace(epoch=2, number=1, time_millis=900)
    old._life.add(late)
    for _ in range(9):
        # It removes what is too old, but for its last time and position.
        later.alive()
    last = log_at(tmp_path, 2 * 10**9).writer("w")
    with pytest.raises(TidemarkError) as error:
        last.note_time(199, NumberPosition(20))
    assert code_of(error) == "MARK_GOES_BACK"


def test_what_a_fenced_life_wrote_too_late_is_removed_before_the_mark_that_fences_it_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemark_marks._writing.life.MOST_LIVE", 2)
    old = log_at(tmp_path, 1).writer("w")
    log_at(tmp_path, 2).writer("w").note_time(100, files=["a"])
    last = log_at(tmp_path, 10**9).writer("w", retain=timedelta(milliseconds=1))
    mark = log_at(tmp_path).read().marks[-1]._replace(epoch=1, number=1, kind="note", after=None)
    old._life.add(mark._replace(time_millis=900, position_text='{"files":["b"]}'))
    for time in range(200, 210):
        last.note_time(time, files=[str(time)])
    assert {mark.epoch for mark in log_at(tmp_path, 10**9).read().marks} == {10**9}
    assert lower(log_at(tmp_path, 10**9)) == 209


def test_a_life_counts_no_more_if_the_mark_that_fences_it_off_is_missing(tmp_path: Path) -> None:
    old = log_at(tmp_path, 1).writer("w")
    log_at(tmp_path, 2).writer("w").close()
    log_at(tmp_path, 3).writer("w").close()
    late = log_at(tmp_path).read().marks[0]._replace(number=1, kind="note", time_millis=900)
    old._life.add(late._replace(position_text='{"number":90}'))
    for file in tmp_path.glob("w.2.*"):
        file.unlink()
    assert log_at(tmp_path).window(NumberPosition(100)).lower_millis is None


def test_a_writer_whose_file_is_removed_while_it_writes_is_told_that_it_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Life.begin(Folder(str(tmp_path)), "w", 0)
    log_at(tmp_path).writer("w")
    # A third life has claimed the name for a moment, because it had looked at the folder long ago.
    (tmp_path / "w.0.0.marks").touch()

    def gone(*_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "replace", gone)
    with pytest.raises(TidemarkError) as error:
        MarkWriter(old, None, 1, lambda: 0)
    assert code_of(error) == "MARK_WRITER_FENCED"


def test_of_lives_that_begin_at_once_the_last_one_writes_and_the_others_are_told(
    tmp_path: Path,
) -> None:
    log = log_at(tmp_path, 5)
    begun: list[MarkWriter] = []
    refused: list[str | None] = []

    def begin() -> None:
        try:
            begun.append(log.writer("w"))
        except TidemarkError as error:
            refused.append(error.code)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(refused) <= {"MARK_WRITER_FENCED"}
    last, *others = sorted(begun, key=lambda writer: -writer.epoch)
    last.note_time(1, NumberPosition(1))
    for other in others:
        with raising("MARK_WRITER_FENCED"):
            other.note_time(2, NumberPosition(1))
    assert log.window(NumberPosition(1)).lower_millis == 1


def test_the_largest_epoch_leaves_no_room_for_a_new_life(tmp_path: Path) -> None:
    (tmp_path / f"w.{2**63 - 1}.0.marks").write_bytes(b"")
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path).writer("w")
    assert code_of(error) == "MARK_NOT_WRITTEN"


@pytest.mark.parametrize("damage", [b"", b"00000000 {}\n"])
def test_a_new_life_seals_again_what_a_damaged_sealed_file_has_lost(
    tmp_path: Path, damage: bytes
) -> None:
    log = log_at(tmp_path, 7)
    writer = log.writer("w")
    for number in range(3):
        writer.note_time(number, files=[str(number)])
    # As if the life had been killed after it sealed its marks, and before it removed them.
    live = (tmp_path / "w.7.0.marks").read_bytes()
    lines = live.splitlines(keepends=True)
    (tmp_path / "w.7.0-3.marks").write_bytes(lines[1] + damage)
    log.writer("w").note_time(9, files=["9"])
    assert (tmp_path / "w.7.0-3.marks").read_bytes() == live
    assert log.cut_at(9).files == {"0", "1", "2", "9"}


def test_marks_that_only_a_damaged_file_had_hold_the_chain(tmp_path: Path) -> None:
    log = log_at(tmp_path, 7)
    writer = log.writer("w")
    for number in range(300):
        writer.note_time(number, files=[str(number)])
    for slot in (0, 1):
        (tmp_path / f"w.7.{slot}.marks").unlink()
    sealed = tmp_path / "w.7.0-255.marks"
    lines = sealed.read_bytes().splitlines(keepends=True)
    sealed.write_bytes(b"".join(lines[:100]))
    log.writer("w").note_time(900, files=["new"])
    # What is lost was finished before the new mark, and its files are unknown.
    assert log.read().marks[-2].after == (7, 255)
    assert log.window(FilesPosition(frozenset({"new", *map(str, range(300))}))).lower_millis == 98


def test_a_mark_written_after_a_later_life_began_is_refused(tmp_path: Path) -> None:
    log = Marks(tmp_path)
    before = log.writer("eu")
    before.note_time(1, NumberPosition(1))
    # It has claimed its epoch and read the past, and has written nothing yet.
    Life.begin(Folder(str(tmp_path)), "eu", before.epoch + 1)
    with raising("MARK_WRITER_FENCED"):
        before.note_time(2, NumberPosition(2))
