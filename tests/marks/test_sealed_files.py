"""Sealed files are read once by one `Marks`: they never change, and one that does is read again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.marks import complete, line

from tidemark.marks import Marks
from tidemark_marks._protocol.files import Folder
from tidemark_marks._reading import log


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read."""
    names: list[str] = []
    chunks = Folder.chunks

    def noting(self: Folder, name: str) -> Iterator[bytes]:
        names.append(name)
        return chunks(self, name)

    monkeypatch.setattr(Folder, "chunks", noting)
    return names


def seal(folder: Path, first: int, times: list[int]) -> Path:
    """A sealed file with a note of each time."""
    last = first + len(times) - 1
    file = folder / f"w.1.{first}-{last}.marks"
    marks: list[dict[str, Any]] = [
        {"n": first + at, "t": time, "p": {"number": time}} for at, time in enumerate(times)
    ]
    file.write_text("".join(map(line, complete(marks))))
    return file


def times(marks: Marks) -> list[int | None]:
    return [mark.time_millis for mark in marks.read().marks]


def test_the_next_reading_opens_no_sealed_file_again(tmp_path: Path, opened: list[str]) -> None:
    seal(tmp_path, 0, [10, 20])
    marks = Marks(tmp_path)
    assert times(marks) == times(marks) == [10, 20]
    seal(tmp_path, 2, [30])
    assert times(marks) == [10, 20, 30]
    assert opened == ["w.1.0-1.marks", "w.1.2-2.marks"]


def test_a_file_that_is_changed_or_removed_counts_as_it_is_now(tmp_path: Path) -> None:
    file = seal(tmp_path, 0, [10, 20])
    marks = Marks(tmp_path)
    assert times(marks) == [10, 20]
    seal(tmp_path, 0, [10, 25])
    os.utime(file, ns=(1, 1))
    assert times(marks) == [10, 25]
    file.unlink()
    assert times(marks) == []


def test_a_line_that_cannot_be_used_is_reported_by_each_reading(tmp_path: Path) -> None:
    file = seal(tmp_path, 0, [10, 20])
    file.write_text(file.read_text() + "what is this line\n")
    marks = Marks(tmp_path)
    for _ in range(2):
        assert marks.read().skipped_count == 1
        assert times(marks) == [10, 20]


def test_no_more_marks_are_kept_than_memory_is_meant_for(
    tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "MOST_KEPT", 2)
    seal(tmp_path, 0, [10, 20])
    seal(tmp_path, 2, [30])
    marks = Marks(tmp_path)
    assert times(marks) == times(marks) == [10, 20, 30]
    assert opened == ["w.1.0-1.marks", "w.1.2-2.marks", "w.1.2-2.marks"]
