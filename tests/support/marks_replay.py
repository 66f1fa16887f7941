"""Runs a drawn history of `noted-drawn.json` again: the log as it was, the readers, and the rows still to come."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from support.marks import line
from tidemark.marks import FilesPosition, KafkaPosition, Marks
from tidemark_marks._protocol.position import Position, read_position

Json = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A row of a writer that keeps its word.

    Attributes:
        writer: Its writer.
        place: Its file, or its partition and offset.
        millis: Its event time.
    """

    writer: str
    place: str | tuple[int, int]
    millis: int

    @staticmethod
    def all_of(written: list[Any]) -> Iterator[Row]:
        """The rows of an entry of `rows`."""
        writer, place, *rest = written
        if isinstance(place, str):
            return (Row(writer, place, millis) for millis in rest)
        offset, millis = rest
        return iter([Row(writer, (place, offset), millis)])

    def is_read(self, read: Position | None) -> bool:
        """Whether a reader has read it."""
        if isinstance(read, FilesPosition):
            return self.place in read.files
        if isinstance(read, KafkaPosition) and isinstance(self.place, tuple):
            partition, offset = self.place
            ((_, offsets),) = read.offsets.items()
            return offset < offsets.get(partition, 0)
        return False


@dataclass
class Reader:
    """A reader of the log, what it has read, and how far its watermark is.

    Attributes:
        excused: Up to which time each writer's rows may be late.
    """

    marks: Marks
    read: Position | None = None
    reached: int | None = None
    excused: dict[str, int | None] = field(default_factory=dict)

    def late(self, rows: list[Row]) -> list[Row]:
        """Rows that it has not read, and that are late by its watermark."""
        return [
            row
            for row in rows
            if not row.is_read(self.read)
            and _is_after(self.reached, row.millis - 1)
            and not _is_after(self.excused.get(row.writer), row.millis - 1)
        ]

    def move(self, read: Position) -> None:
        """Reads on. Of files, the position has the new ones only."""
        if isinstance(read, FilesPosition) and isinstance(self.read, FilesPosition):
            read = FilesPosition(self.read.files | read.files)
        self.read = read


def _is_after(millis: int | None, other: int) -> bool:
    return millis is not None and millis > other


def replay(vector: Json, folder: Path) -> Iterator[str]:
    """What is not as the vector says, and which rows are late.

    Args:
        vector: The history.
        folder: Where the log is made.
    """
    now = 0

    def clock() -> int:
        return now

    folder.mkdir(exist_ok=True)
    lines = [line({"v": 1, **mark}) for mark in vector["marks"]]
    rows: list[Row] = []
    # Readers date marks by their store only if their clock is that of the machine.
    with patch("tidemark_marks._marks.wall_clock", clock):
        readers = [
            Reader(Marks(folder, clock=clock, **_options(reader))) for reader in vector["readers"]
        ]
        for number, step in enumerate(vector["steps"], start=1):
            now = step.get("now", now)
            for name, content in step.get("log", {}).items():
                _put(folder / name, content, lines)
            rows += [row for given in step.get("rows", ()) for row in Row.all_of(given)]
            if "reader" in step:
                for problem in _ask(readers[step["reader"]], step, rows):
                    yield f"step {number}: {problem}"


def _options(reader: Json) -> Json:
    times = {"idle_after", "max_ahead"}
    given = {k: timedelta(milliseconds=v) if k in times else v for k, v in reader.items()}
    return {"max_ahead": None} | given


def _put(file: Path, content: list[Any] | None, lines: list[str]) -> None:
    if content is None:
        file.unlink()
    else:
        modified, *written = content
        file.write_text("".join(lines[line] if isinstance(line, int) else line for line in written))
        os.utime(file, ns=(modified * 1_000_000,) * 2)


def _ask(reader: Reader, step: Json, rows: list[Row]) -> Iterator[str]:
    # What it reads now comes after its watermark, too.
    if late := reader.late(rows):
        yield f"late before it is read: {late}"
    reader.move(read_position(step["read"]))
    assert reader.read is not None
    window = reader.marks.window(reader.read, is_at_end=step.get("at_end", False))
    expected = step.get("lower"), step.get("upper")
    if expected != (window.lower_millis, window.upper_millis):
        yield f"expected {expected}, actual {window}"
    if window.lower_millis is not None:
        reader.reached = max(window.lower_millis, reader.reached or window.lower_millis)
    reader.excused |= dict.fromkeys(step.get("excused", ()), reader.reached)
    if late := reader.late(rows):
        yield f"late: {late}"
    reader.excused |= dict.fromkeys(step.get("done", ()), reader.reached)
