"""Names of files that no source ever lists: a writer that notes one would hold all readers forever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.marks import code_of, kinds, log_at, no_sync, put
from support.raising import raising

from tidemark import TidemarkError
from tidemark._mark_logs.files import path_of
from tidemark.marks import FilesPosition, Marks, MarkWriter

pytestmark = pytest.mark.usefixtures(no_sync.__name__)

NEVER_LISTED = [
    "_SUCCESS", ".a.json.tmp", "day=1/_temporary/a", "_tidemark/a", "day=1/.a", "a._COPYING_",
    "a._COPYING_/b", "_metadata", "day=1/", "*.json", "day=?/a", "/lake/a", "s3://lake/a", "file:/a", "../a", "a//b",
]  # fmt: skip

LISTED = ["a", "day=1/a.json", "_day=1/a", "_a=b", "a_.json", "a.", "[1].json", "{a}", "a:b", "ä ö"]

Note = Callable[[MarkWriter, str], None]

NOTES: list[Note] = [
    lambda writer, name: writer.note_time(1, files=["a", name]),
    lambda writer, name: writer.note_time(1, FilesPosition(frozenset([name]))),
    lambda writer, name: writer.commit(1, [name]),
    lambda writer, name: writer.commit(None, [name]),
    lambda writer, name: writer.end(files=[name]),
]


@pytest.mark.parametrize("name", NEVER_LISTED)
def test_a_name_that_no_source_lists_is_refused_and_nothing_is_written(
    tmp_path: Path, name: str
) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")
    for note in NOTES:
        with pytest.raises(TidemarkError) as error:
            note(writer, name)
        assert code_of(error) == "INVALID_OPTION"
        assert error.value.parameters["value"] == name
        assert error.value.parameters["option"] == "files"
    flushed = log.writer("v", flush=lambda: FilesPosition(frozenset([name])))
    with pytest.raises(TidemarkError) as error:
        flushed.note_time(1)
    assert code_of(error) == "INVALID_OPTION"
    assert kinds(log) == [("alive", None)] * 2


def test_other_names_are_noted_and_can_be_read(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    log.writer("w").note_time(1, files=LISTED)
    assert log.cut_at(1).files == set(LISTED)
    assert all(path_of("/lake", name) for name in LISTED)


def test_what_to_do_is_said_for_each_kind_of_name(tmp_path: Path) -> None:
    writer = log_at(tmp_path).writer("w")
    fixes = set()
    for name in ("_SUCCESS", "*.json", "day=1/", "/lake/orders/a"):
        with raising("INVALID_OPTION", option="files", value=name) as error:
            writer.note_time(1, files=[name])
        fixes.add(getattr(error.value, "fix", ""))
    assert len(fixes) == 4


def test_the_name_of_a_folder_beside_the_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "a.json").touch()
    log = Marks(tmp_path / "_tidemark")
    writer = log.writer("w")
    with raising("INVALID_OPTION", option="files", value="day=1"):
        writer.note_time(1, files=["day=1"])
    writer.note_time(1, files=["day=1/a.json", "not-there-yet"])
    # A log that is elsewhere says nothing of where the data is.
    (tmp_path / "elsewhere" / "day=1").mkdir(parents=True)
    Marks(tmp_path / "elsewhere" / "log").writer("w").note_time(1, files=["day=1"])


def test_marks_of_others_with_such_names_are_still_read(tmp_path: Path) -> None:
    put(tmp_path, [{"k": "note", "t": 1, "p": {"files": ["_hidden"]}}])
    assert log_at(tmp_path).cut_at(1).files == {"_hidden"}
