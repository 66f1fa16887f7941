"""Reading a mark log: every mark that can be used, and what was left out.

Nothing is locked. Live files are read before the folder is listed for sealed ones. A writer seals
its marks durably before it takes them out of its live files, so none falls between the two.

What is read is one moment of the log: no mark is taken without the writers that existed when it
was written. So the folder is listed again, until it has no new live files.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from tidemark_marks._protocol.files import Folder
from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.names import FileName, parse
from tidemark_marks._protocol.skipped import SkippedLine, Skips
from tidemark_marks._protocol.text import LEAST_LINE, MOST_LINE, UnusableError, checked, decode


class Correction(NamedTuple):
    """By how much the clock of a writer's host was behind the store's, which all writers share.

    Attributes:
        writer: The writer.
        epoch: The number of its life.
        last: The number of the last mark of a file. It holds for that one, and for those before it
            that are in no earlier file.
        millis: To be added to the times at which marks were written.
    """

    writer: str
    epoch: int
    last: int
    millis: int


class Unread(NamedTuple):
    """The newest mark of a writer, if it cannot be read.

    Attributes:
        writer: The writer.
        epoch: The number of its life.
        number: The mark's number, as far as the file says it.
        written_millis: When its file was written, in ms since the epoch, by the store's clock.
    """

    writer: str
    epoch: int
    number: int
    written_millis: int


@dataclass(frozen=True)
class Contents:
    """What was read.

    Attributes:
        marks: The marks, in no promised order; one may be in two files.
        promised: The marks that must have existed by the names of files: the sealed ones, and one
            from the first mark of a life on whose first lines cannot be read.
        skipped: The first lines that were left out.
        skipped_count: How many there are.
        corrections: By how much writers' clocks were wrong.
        unread: The newest marks of writers that cannot be read.
        has_host_clocks: Whether marks without a correction have the clocks of several hosts, which
            must not be compared.
    """

    marks: tuple[Mark, ...]
    promised: tuple[FileName, ...]
    skipped: tuple[SkippedLine, ...]
    skipped_count: int = 0
    corrections: tuple[Correction, ...] = ()
    unread: tuple[Unread, ...] = ()
    has_host_clocks: bool = False


Filter = Callable[[FileName], bool]

MOST_LOOKS = 3
"""How often live files are looked for. Lives that are found later still count, by their names only."""

_TORN = "torn"
"""Why the last line of a file cannot be used if it has no line feed."""

_BY_NUMBER = attrgetter("writer", "epoch", "first")


MOST_KEPT = 200_000
"""How many marks of sealed files are kept from one reading to the next: they take about 60 MB."""


class Sealed:
    """The sealed files of a log as the last reading found them: a sealed file never changes.

    With all 100,000 marks of a log in it, the next reading takes 13 ms instead of 300 ms. A file of
    another length or time of writing is read again, and so is one with a line that cannot be used.
    """

    def __init__(self) -> None:
        self._kept: dict[FileName, tuple[tuple[int, int], _File]] = {}

    def read(self, folder: Folder, names: Iterable[FileName], skipped: Skips) -> list[_File]:
        """The files of these names; others are forgotten."""
        kept: dict[FileName, tuple[tuple[int, int], _File]] = {}
        files: list[_File] = []
        room = MOST_KEPT
        for name in names:
            stamp = folder.stamp(name.text)
            before = self._kept.get(name)
            if before is not None and before[0] == stamp:
                file = before[1]
                is_usable = True
            else:
                count = skipped.count
                file = _read_file(folder, name, skipped)
                is_usable = skipped.count == count
            files.append(file)
            if stamp is not None and is_usable and len(file.marks) <= room:
                kept[name] = stamp, file
                room -= len(file.marks)
        self._kept = kept
        return files


def read(
    folder: Folder, wanted: Filter = lambda _: True, sealed_before: Sealed | None = None
) -> Contents:
    """Reads the files of a log that a filter wants.

    Args:
        folder: The log.
        wanted: The filter.
        sealed_before: What a reading before this one has found in sealed files.

    Raises:
        OSError: If the folder or a file of it cannot be read.
    """
    skipped = Skips()
    with many_objects():
        live: dict[FileName, _File] = {}
        names = list(_files(folder, wanted))
        for look in range(MOST_LOOKS):
            new = [name for name in names if name.slot is not None and name not in live]
            if look > 0 and not new:
                break
            live |= {name: _read_file(folder, name, skipped) for name in new}
            names = list(_files(folder, wanted))
        # In the order of their numbers, marks are sorted in no time.
        sealed = sorted((name for name in names if name.slot is None), key=_BY_NUMBER)
        files = (sealed_before or Sealed()).read(folder, sealed, skipped) + list(live.values())
        files += _only_named(names, files)
        marks = [mark for file in files for mark in file.marks]
        corrections = tuple(_corrections(folder, files))
        return Contents(
            tuple(marks),
            (*sealed, *_lost(files)),
            skipped.first,
            skipped.count,
            corrections,
            tuple(_unread(folder, files, marks)),
        )


def _only_named(names: Iterable[FileName], files: Iterable[_File]) -> list[_File]:
    """Lives whose files came too late to be read, each as if a file said that its writer is alive.

    Their other marks may be newer than writers that this reading does not know.
    """
    read_before = {file.name for file in files}
    late = {
        (name.writer, name.epoch): name
        for name in names
        if name.slot is not None and name not in read_before
    }
    known = {(mark.writer, mark.epoch) for file in files if late for mark in file.marks}
    # An epoch is of the host's clock, which is corrected by the age of the file, as for any mark.
    return [
        _File(name, [Mark(name.writer, name.epoch, 0, "alive", None, name.epoch)])
        for life, name in sorted(late.items())
        if life not in known
    ]


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
    return _read_file(folder, name, Skips()).marks


class Lines(NamedTuple):
    """The marks of a file with their lines.

    Attributes:
        marks: Each mark, with its line as it is.
        lost_before: How many lines before the first mark cannot be used.
        lost_behind: How many behind the last one.
        is_cut: Whether the end of the file is missing, and with it any number of lines.
    """

    marks: list[tuple[Mark, bytes]]
    lost_before: int
    lost_behind: int
    is_cut: bool = False


def read_lines(folder: Folder, name: FileName) -> Lines:
    """The marks of one file, each with its line as it is."""
    found: list[tuple[Mark, bytes]] = []
    before = behind = 0
    is_cut = False
    for line in _lines(folder.chunks(name.text)):
        if isinstance(line, int):
            behind += line
            before += 0 if found else line
            continue
        is_cut = line == _TORN
        try:
            found.append((_mark(line, name), line + b"\n" if isinstance(line, bytes) else b""))
            behind = 0
        except UnusableError:
            behind += 1
            before += not found
    return Lines(found, before, behind, is_cut)


def _files(folder: Folder, wanted: Filter) -> Iterator[FileName]:
    for text in folder.names():
        name = parse(text)
        if name is not None and wanted(name):
            yield name


class _File(NamedTuple):
    """A file as it was read, whether its first line has a mark, and how many lines behind the last mark have none."""

    name: FileName
    marks: list[Mark]
    is_whole_from_start: bool = True
    lost_behind: int = 0


def _read_file(folder: Folder, name: FileName, skipped: Skips) -> _File:
    marks: list[Mark] = []
    is_whole = True
    behind = 0
    # Making it takes longer than reading a short line.
    text = name.text
    number = 1
    for line in _lines(folder.chunks(name.text)):
        if isinstance(line, int):
            skipped.add(text, number, "checksum", line)
            is_whole = is_whole and number > 1
            number += line
            behind += line
            continue
        try:
            marks.append(_mark(line, name))
            behind = 0
        except UnusableError as problem:
            skipped.add(text, number, str(problem))
            is_whole = is_whole and number > 1
            behind += 1
        number += 1
    return _File(name, marks, is_whole, behind)


def _corrections(folder: Folder, files: Iterable[_File]) -> Iterator[Correction]:
    """A file was written when its last mark was."""
    for file in files:
        modified = folder.modified_millis(file.name.text) if file.marks else None
        if modified is not None:
            last = file.marks[-1]
            yield Correction(last.writer, last.epoch, last.number, modified - last.written_millis)


def _lost(files: Iterable[_File]) -> Iterator[FileName]:
    """Lives whose first known mark is not the first one that was written.

    The first line of a file cannot be used, nor is its mark anywhere else. The name of a live file
    promises no mark, so without this the beginning would count as purged, and so as read.
    """
    lives: dict[tuple[str, int], list[_File]] = {}
    if not all(file.is_whole_from_start for file in files):
        for file in files:
            lives.setdefault((file.name.writer, file.name.epoch), []).append(file)
    for (writer, epoch), own in lives.items():
        if all(file.is_whole_from_start for file in own):
            continue
        begins = {file.marks[0].number for file in own if file.is_whole_from_start and file.marks}
        first = min((mark.number for file in own for mark in file.marks), default=None)
        if first not in begins:
            yield FileName(writer, epoch, first=0, last=0)


def _unread(folder: Folder, files: Iterable[_File], marks: Iterable[Mark]) -> Iterator[Unread]:
    """The newest mark of each writer of which no file has it.

    Leaving it out would be wrong. An earlier mark may say that the writer has ended, or there may be
    no other mark, and then readers would not wait for the writer.
    """
    files = list(files)
    sealed: dict[tuple[str, int], int] = {}
    for file in files:
        life = file.name.writer, file.name.epoch
        sealed[life] = max(sealed.get(life, -1), -1 if file.name.last is None else file.name.last)
    newest: dict[str, tuple[int, int, str]] = {}
    for file in files:
        last = _last_unread(file, sealed[file.name.writer, file.name.epoch])
        if last is not None:
            place = (file.name.epoch, last, file.name.text)
            newest[file.name.writer] = max(place, newest.get(file.name.writer, place))
    known: dict[str, tuple[int, int]] = {}
    for mark in marks if newest else ():
        known[mark.writer] = max(known.get(mark.writer, mark.place), mark.place)
    for writer, (epoch, number, name) in newest.items():
        modified = folder.modified_millis(name)
        # A file that no longer exists was purged a moment ago.
        if modified is not None and (epoch, number) > known.get(writer, (-1, -1)):
            yield Unread(writer, epoch, number, modified)


def _last_unread(file: _File, sealed: int) -> int | None:
    """The number of the last mark that was written into a file, if it cannot be read: each line had one."""
    last = file.marks[-1].number if file.marks else None
    if file.name.last is not None:
        return None if last is not None and last >= file.name.last else file.name.last
    if file.lost_behind == 0:
        return None
    return (sealed if last is None else last) + file.lost_behind


def _mark(line: bytes | str, name: FileName) -> Mark:
    if isinstance(line, str):
        raise UnusableError(line)
    mark = decode(checked(line))
    if mark.writer != name.writer or mark.epoch != name.epoch:
        raise UnusableError("writer")
    return mark


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes | str | int]:
    """The lines of a file without their line feeds; for one that cannot be read, why.

    Lines that are too short for a checksum are counted: a file may have millions of empty ones.
    """
    rest = b""
    is_long = False
    for chunk in chunks:
        if b"\n" in chunk:
            first, *whole, last = chunk.split(b"\n")
            is_long = is_long or len(rest) + len(first) > MOST_LINE
            yield "long" if is_long else rest + first
            # No line inside a chunk is too long, because no chunk is longer than a line may be.
            yield from _counted(whole)
            rest, is_long = last, False
        else:
            rest += chunk
        if len(rest) > MOST_LINE:
            rest, is_long = b"", True
    if is_long:
        yield "long"
    elif rest:
        yield _TORN


def _counted(lines: list[bytes]) -> Iterator[bytes | int]:
    reached = 0
    for at in [at for at, line in enumerate(lines) if len(line) >= LEAST_LINE]:
        if at > reached:
            yield at - reached
        yield lines[at]
        reached = at + 1
    if reached < len(lines):
        yield len(lines) - reached
