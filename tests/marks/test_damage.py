"""Live files that a disk has damaged: a writer of files holds where a mark may be lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.marks import line, log_at, lower, no_sync, refused

from tidemark import TidemarkError
from tidemark.marks import FilesPosition

pytestmark = pytest.mark.usefixtures(no_sync.__name__)

DAMAGED = "00000000 {}\n"
ALL = FilesPosition(frozenset("abcxyz"))


def marks(*numbers: int) -> str:
    """Marks 0, 1, 2 note the times 100, 101, 102 with the files a, b, c."""
    return "".join(
        line({"v": 1, "w": "w", "e": 1, "n": n, "k": "note", "t": 100 + n, "at": 0, "p": {"files": ["abc"[n]]}})
        for n in numbers
    )  # fmt: skip


def put(folder: Path, first: str, second: str) -> None:
    (folder / "w.1.0.marks").write_text(first)
    (folder / "w.1.1.marks").write_text(second)


def test_a_chain_holds_where_both_live_files_have_lost_their_first_lines(tmp_path: Path) -> None:
    put(tmp_path, DAMAGED * 2 + marks(2), DAMAGED * 2)
    log = log_at(tmp_path)
    assert not log.is_complete(0)
    assert log.window(ALL).lower_millis is None
    with pytest.raises(TidemarkError) as error:
        log.cut_at(102)
    assert refused(error) == ("NO_CUT", "w")


def test_a_first_line_that_another_file_has_is_not_lost(tmp_path: Path) -> None:
    put(tmp_path, DAMAGED + marks(1, 2), marks(0))
    assert lower(log_at(tmp_path)) == 102
    # The marks before were sealed.
    put(tmp_path, DAMAGED + marks(2), DAMAGED)
    (tmp_path / "w.1.0-1.marks").write_text(marks(0, 1))
    assert lower(log_at(tmp_path)) == 102


def test_a_file_that_was_cut_may_have_lost_more_than_the_line_at_its_end(tmp_path: Path) -> None:
    log = log_at(tmp_path, 10)
    writer = log.writer("w")
    writer.note_time(100, files=["a"])
    writer.note_time(101, files=["b"])
    # Both files have the first note, and only one has the second.
    (newest,) = (file for file in tmp_path.iterdir() if b'"b"' in file.read_bytes())
    newest.write_bytes(newest.read_bytes()[:100])
    later = log.writer("w")
    later.note_time(102, files=["c"])
    assert log.window(FilesPosition(frozenset("ac"))).lower_millis == 100


@pytest.mark.parametrize(
    ("first", "second", "passed"),
    [
        (DAMAGED + marks(1, 2), DAMAGED + marks(1), None),
        (DAMAGED * 3, DAMAGED * 2, None),
        (marks(0, 1) + DAMAGED, DAMAGED, 101),
        (marks(0, 1) + DAMAGED, marks(0), 101),
        (marks(0, 1) + DAMAGED, marks(0, 1, 2), 900),
        (DAMAGED + marks(1, 2), marks(0, 1), 900),
    ],
)
def test_a_new_life_does_not_hide_what_is_lost(
    tmp_path: Path, first: str, second: str, passed: int | None
) -> None:
    put(tmp_path, first, second)
    writer = log_at(tmp_path).writer("w")
    writer.note_time(900, files=["z"])
    assert len(list(tmp_path.glob("w.1.[01].marks"))) == 0
    assert log_at(tmp_path).window(ALL).lower_millis == passed
    # And so does the life after that.
    log_at(tmp_path).writer("w").note_time(900, files=["z"])
    assert log_at(tmp_path).window(ALL).lower_millis == passed


def test_a_sealed_file_that_had_its_mark_is_not_loss_for_a_new_life(tmp_path: Path) -> None:
    put(tmp_path, DAMAGED + marks(2), DAMAGED)
    (tmp_path / "w.1.0-1.marks").write_text(marks(0, 1))
    log_at(tmp_path).writer("w").note_time(900, files=["z"])
    assert log_at(tmp_path).window(ALL).lower_millis == 900


def test_the_name_of_a_sealed_file_counts_the_lines_of_a_file_without_any_mark(
    tmp_path: Path,
) -> None:
    put(tmp_path, DAMAGED * 2, DAMAGED * 3)
    log_at(tmp_path).writer("w")
    assert [file.name for file in tmp_path.glob("w.1.*")] == ["w.1.0-2.marks"]
    assert log_at(tmp_path).read().marks[0].after == (1, 2)


def test_a_writer_whose_newest_lines_are_lost_is_waited_for(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    log.writer("v").note_time(900, files=["z"])
    assert log.is_complete(900)
    put(tmp_path, "", "")
    assert log_at(tmp_path).is_complete(900)
    put(tmp_path, DAMAGED, "")
    assert not log_at(tmp_path).is_complete(900)
    assert [writer.writer for writer in log_at(tmp_path).waiting_for(900)] == ["w"]
    assert log_at(tmp_path).window(ALL).lower_millis is None


def test_a_writer_whose_lines_behind_its_rest_are_lost_is_waited_for(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    log.writer("v").note_time(900, files=["z"])
    end = line({"v": 1, "w": "w", "e": 1, "n": 1, "k": "end", "at": 0})
    put(tmp_path, marks(0) + end, marks(0))
    assert log_at(tmp_path).is_complete(900)
    put(tmp_path, marks(0) + end, marks(0) + end + DAMAGED)
    assert not log_at(tmp_path).is_complete(900)
    assert log_at(tmp_path).is_complete(100)
    # A later mark says how it goes on.
    again = line({"v": 1, "w": "w", "e": 1, "n": 3, "k": "end", "at": 0, "t": 950})
    put(tmp_path, marks(0) + end + DAMAGED, marks(0) + end + DAMAGED + again)
    (tmp_path / "w.2.0.marks").write_text(DAMAGED)
    assert not log_at(tmp_path).is_complete(900)
