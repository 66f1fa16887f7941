"""What `Marks.purge` has removed of writers of files: a note of a line for each writer.

    <writer>.<epoch>.purged

Readers of marks ignore such a file, so a purged writer holds no watermark. A cut includes it, because
it says that no file of the writer is behind some mark. So a batch job that has read up to that mark
continues, and any other job is refused.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator

from tidemark_marks._protocol.files import Folder
from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.names import FileName, encode_writer, own_prefix, parse
from tidemark_marks._protocol.position import MOST, FilesPosition, InvalidPositionError
from tidemark_marks._protocol.text import UnusableError, checked
from tidemark_marks._reading.cut import Chain, place_in_cut
from tidemark_marks._reading.log import Lines

_NOTE = re.compile(r"(.+)\.purged")

Place = tuple[int, int]


def notes(folder: Folder, only: Collection[str] | None = None) -> dict[str, Chain]:
    """What was purged of each writer, as a chain: the last mark that may list files, and the last one of all.

    Args:
        folder: The log.
        only: The writers that are asked for; None for all.

    Raises:
        OSError: If the folder or a note cannot be read.
    """
    found: dict[str, Chain] = {}
    for name in _named(folder.names()):
        if only is None or name.writer in only:
            chain = _read(folder, name)
            before = found.get(name.writer, chain)
            found[name.writer] = max(before, chain, key=lambda chain: chain.last)
    return found


def epochs(names: Iterable[str], writer: str) -> list[int]:
    """The epochs of a writer's notes, by the names of files."""
    return [name.epoch for name in _named(names) if name.writer == writer]


def note(folder: Folder, writer: str, files: Iterable[tuple[FileName, Lines]]) -> None:
    """Notes that all marks of a writer are about to be removed. A writer without files needs no note.

    Args:
        folder: The log.
        writer: The writer.
        files: All its files.

    Raises:
        OSError: If the note cannot be written.
    """
    read = list(files)
    ends = [end for name, lines in read if (end := _end(name, lines)) is not None]
    marks = sorted({mark.place: mark for _, lines in read for mark, _ in lines.marks}.items())
    earlier = notes(folder, [writer]).get(writer)
    is_of_files = any(isinstance(mark.position, FilesPosition) for _, mark in marks)
    if not ends or not (earlier or is_of_files or _is_lost(read)):
        return
    last = max(ends)
    chain = Chain(_last_listing([mark for _, mark in marks], last, earlier), last)
    fields = {"v": 1, "w": writer, "purged": list(chain.after), "last": list(chain.last)}
    body = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
    own = _name(FileName(writer, last[0]))
    folder.write(own, b"%08x %s\n" % (zlib.crc32(body), body), last[0])
    for name in _named(folder.names(own_prefix(writer))):
        # The new note says all that they say.
        if name.writer == writer and _name(name) != own:
            folder.remove(_name(name))


def _last_listing(marks: list[Mark], last: Place, earlier: Chain | None) -> Place:
    """The place behind which no mark of a writer lists files, up to the last one."""
    place = last
    for mark in reversed(marks):
        # Whatever cannot be read may list files.
        if mark.place != place or _may_list(mark):
            return place
        place = (mark.epoch, mark.number - 1) if mark.after is None else mark.after
        if mark.after is None and mark.number == 0:
            # It is the first mark since the purge before, if there was any.
            return place if earlier is None else earlier.after
    return place


def _may_list(mark: Mark) -> bool:
    position = mark.position
    return isinstance(position, FilesPosition) and bool(position.files)


def _end(name: FileName, lines: Lines) -> Place | None:
    """The last mark that a file has ever had; None if it has had none."""
    if name.last is not None:
        return name.epoch, name.last
    if lines.is_cut or (lines.lost_before and not lines.marks):
        return name.epoch, MOST
    if lines.marks:
        return name.epoch, lines.marks[-1][0].number + lines.lost_behind
    return None


def _is_lost(files: Iterable[tuple[FileName, Lines]]) -> bool:
    return any(lines.lost_before or lines.lost_behind for _, lines in files)


def _named(names: Iterable[str]) -> Iterator[FileName]:
    for text in names:
        found = _NOTE.fullmatch(text)
        # It is the name of a live file, but for its end.
        name = None if found is None else parse(f"{found[1]}.0.marks")
        if name is not None:
            yield name


def _name(name: FileName) -> str:
    return f"{encode_writer(name.writer)}.{name.epoch}.purged"


def _read(folder: Folder, name: FileName) -> Chain:
    """What a note says. If it cannot be used, it is a chain with an end that no job can have read."""
    data = b"".join(folder.chunks(_name(name)))
    try:
        fields = json.loads(checked(data.removesuffix(b"\n")))
        if fields["w"] == name.writer:
            return Chain(place_in_cut(fields["purged"]), place_in_cut(fields["last"]))
    except (UnusableError, InvalidPositionError, ValueError, KeyError, TypeError):
        pass
    return Chain((name.epoch, MOST), (name.epoch, MOST))
