"""Reading a mark log: every mark that can be used, and what was left out.

Nothing is locked. Live files are read before the folder is listed for sealed ones. A writer seals
its marks durably before it takes them out of its live files, so none falls between the two.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

from tidemark._marks import canonical
from tidemark._marks.files import Folder
from tidemark._marks.mark import Mark
from tidemark._marks.names import FileName, parse
from tidemark._marks.text import MOST_LINE, UnusableError, checked, decode


@dataclass(frozen=True)
class SkippedLine:
    """A line of a mark log that was left out.

    Attributes:
        file: The name of the file; in Kafka, the topic and its partition: `tidemark-marks-0`.
        line: The line's number in it, from 1; in Kafka, the offset.
        reason: `torn` (no line feed), `long` (over 1 MB), `checksum`, `json`, `version` (a later
            one), `writer` (of another writer or life than the file's name or the record's key
            says), `key` (of a record of no stream), or the name of the field that is wrong.
    """

    file: str
    line: int
    reason: str


@dataclass(frozen=True)
class Contents:
    """What was read.

    Attributes:
        marks: The marks, in no promised order; one may be in two files.
        sealed: The sealed files, by what their names say.
        skipped: The lines that were left out.
    """

    marks: tuple[Mark, ...]
    sealed: tuple[FileName, ...]
    skipped: tuple[SkippedLine, ...]


Filter = Callable[[FileName], bool]

_BY_NUMBER = attrgetter("writer", "epoch", "first")


def read(folder: Folder, wanted: Filter = lambda _: True) -> Contents:
    """Reads the files of a log that a filter wants.

    Raises:
        OSError: If the folder or a file of it cannot be read.
    """
    marks: list[Mark] = []
    newest: list[Mark] = []
    skipped: list[SkippedLine] = []
    with many_objects():
        for name in _files(folder, wanted):
            if name.slot is not None:
                _read_file(folder, name, newest, skipped)
        # In the order of their numbers, marks are sorted in no time.
        sealed = sorted(
            (name for name in _files(folder, wanted) if name.slot is None), key=_BY_NUMBER
        )
        for name in sealed:
            _read_file(folder, name, marks, skipped)
        marks.extend(newest)
        return Contents(tuple(marks), tuple(sealed), tuple(skipped))


@contextmanager
def many_objects() -> Iterator[None]:
    """Makes many objects that live on: the garbage collector would look at all of them, again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read_marks(folder: Folder, name: FileName) -> list[Mark]:
    """The marks of one file."""
    found: list[Mark] = []
    _read_file(folder, name, found, [])
    return found


def read_lines(folder: Folder, name: FileName) -> list[tuple[Mark, bytes]]:
    """The marks of one file, each with its line as it is."""
    found: list[tuple[Mark, bytes]] = []
    for line in _lines(folder.chunks(name.text)):
        with suppress(UnusableError):
            found.append((_mark(line, name), line + b"\n" if isinstance(line, bytes) else b""))
    return found


def _files(folder: Folder, wanted: Filter) -> Iterator[FileName]:
    for text in folder.names():
        name = parse(text)
        if name is not None and wanted(name):
            yield name


def _read_file(
    folder: Folder, name: FileName, marks: list[Mark], skipped: list[SkippedLine]
) -> None:
    chunks = folder.chunks(name.text)
    # Nearly all files are one chunk. A longer one is read piece by piece.
    first = next(chunks, b"")
    second = next(chunks, b"")
    quickly = None if second else canonical.read(first, name.writer, name.epoch)
    if quickly is not None:
        marks.extend(quickly)
        return
    for number, line in enumerate(_lines(chain((first, second), chunks)), start=1):
        try:
            marks.append(_mark(line, name))
        except UnusableError as problem:
            skipped.append(SkippedLine(name.text, number, str(problem)))


def _mark(line: bytes | str, name: FileName) -> Mark:
    if isinstance(line, str):
        raise UnusableError(line)
    mark = decode(checked(line))
    if mark.writer != name.writer or mark.epoch != name.epoch:
        raise UnusableError("writer")
    return mark


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes | str]:
    """The lines of a file without their line feeds; for one that cannot be read, why."""
    rest = b""
    is_long = False
    for chunk in chunks:
        if b"\n" in chunk:
            first, *whole, last = chunk.split(b"\n")
            is_long = is_long or len(rest) + len(first) > MOST_LINE
            yield "long" if is_long else rest + first
            # No line inside a chunk is too long, because no chunk is longer than a line may be.
            yield from whole
            rest, is_long = last, False
        else:
            rest += chunk
        if len(rest) > MOST_LINE:
            rest, is_long = b"", True
    if is_long:
        yield "long"
    elif rest:
        yield "torn"
