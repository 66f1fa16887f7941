"""Reading a mark log: every mark that can be used, and what was left out.

Nothing is locked. Live files are read before the folder is listed for sealed ones: a writer seals
its marks durably before it takes them out of its live files, so none falls between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tidemark._marks import canonical
from tidemark._marks.files import Folder
from tidemark._marks.mark import Mark
from tidemark._marks.names import FileName, parse
from tidemark._marks.text import MOST_LINE, UnusableError, checked, decode


@dataclass(frozen=True)
class SkippedLine:
    """A line of a mark log that was left out.

    Attributes:
        file: The name of the file.
        line: The line's number in it, from 1.
        reason: `torn` (no line feed), `long` (over 1 MB), `checksum`, `json`, `version` (a later
            one), `writer` (of another writer or life than the file's name says), or the name of
            the field that is wrong.
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


def read(folder: Folder, wanted: Filter = lambda _: True) -> Contents:
    """Reads the files of a log that a filter wants.

    Raises:
        OSError: If the folder or a file of it cannot be read.
    """
    marks: list[Mark] = []
    skipped: list[SkippedLine] = []
    live = [name for name in _files(folder, wanted) if name.slot is not None]
    for name in live:
        _read_file(folder, name, marks, skipped)
    sealed = [name for name in _files(folder, wanted) if name.slot is None]
    for name in sealed:
        _read_file(folder, name, marks, skipped)
    return Contents(tuple(marks), tuple(sealed), tuple(skipped))


def read_lines(folder: Folder, name: FileName) -> list[tuple[Mark, bytes]]:
    """The marks of one file, each with its line as it is."""
    marks: list[Mark] = []
    lines: list[bytes] = []
    _read_file(folder, name, marks, [], lines)
    return list(zip(marks, lines, strict=True))


def _files(folder: Folder, wanted: Filter) -> Iterator[FileName]:
    for text in folder.names():
        name = parse(text)
        if name is not None and wanted(name):
            yield name


def _read_file(
    folder: Folder,
    name: FileName,
    marks: list[Mark],
    skipped: list[SkippedLine],
    lines: list[bytes] | None = None,
) -> None:
    quickly = canonical.reader(name.writer, name.epoch)
    for number, line in enumerate(_lines(folder.chunks(name.text)), start=1):
        try:
            if isinstance(line, str):
                raise UnusableError(line)
            body = checked(line)
            mark = quickly(body) or _slowly(body, name)
            marks.append(mark)
            if lines is not None:
                lines.append(line + b"\n")
        except UnusableError as problem:
            skipped.append(SkippedLine(name.text, number, str(problem)))


def _slowly(body: bytes, name: FileName) -> Mark:
    mark = decode(body)
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
