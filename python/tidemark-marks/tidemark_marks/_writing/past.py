"""What the lives of a writer before this one have said, and what they have left in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter

from tidemark_marks._protocol.files import Folder
from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.names import FileName, own_prefix, parse
from tidemark_marks._reading import purged
from tidemark_marks._reading.log import Lines, read_lines, read_marks
from tidemark_marks._reading.rules import BY_PLACE, unfenced
from tidemark_marks._store import Past


@dataclass(frozen=True)
class Leftover:
    """Marks of a life that are in live files only.

    Attributes:
        first: The number of the first of them that was written, also if it cannot be read.
        last: That of the last one.
        lines: The lines that can be read.
    """

    first: int
    last: int
    lines: list[bytes]


@dataclass(frozen=True)
class FilesOfPast(Past):
    """What a writer said in the lives before, and what these have left in files.

    Attributes:
        leftovers: Marks that are in live files only, by epoch.
        live: The live files.
    """

    leftovers: dict[int, Leftover]
    live: list[FileName]


def past_of(folder: Folder, writer: str, claim: FileName) -> FilesOfPast:
    """The lives before.

    Args:
        folder: The log.
        writer: The writer's name.
        claim: The first file of the life that asks.

    Raises:
        OSError: If the folder or a file of it cannot be read.
    """
    names = [name for name in own_files(folder, writer) if name != claim]
    live = [name for name in names if name.slot is not None]
    sealed = sorted((name for name in names if name.slot is None), key=age)
    unsealed: dict[int, list[Lines]] = {}
    for name in live:
        unsealed.setdefault(name.epoch, []).append(read_lines(folder, name))
    leftovers: dict[int, Leftover] = {}
    for epoch, files in unsealed.items():
        left = _leftover(folder, sealed, epoch, files)
        if left is not None:
            leftovers[epoch] = left
    places = [(name.epoch, name.last) for name in sealed if name.last is not None]
    places += [(epoch, left.last) for epoch, left in leftovers.items()]
    counted = _last_counted(folder, sealed, unsealed)
    times = [mark.time_millis for mark in counted if mark.time_millis is not None]
    positions = [mark.position_text for mark in counted if mark.position_text is not None]
    if counted:
        places.append(counted[-1].place)
    gone = purged.notes(folder, [writer]).get(writer)
    if gone is not None:
        # The new life continues from purged marks: nothing says which files they had, so it is not a first one.
        places.append(gone.last)
    return FilesOfPast(
        counted[-1] if counted else None,
        max(places, default=None),
        max(times, default=None),
        positions[-1] if positions else None,
        leftovers,
        live,
    )


def _last_counted(
    folder: Folder, sealed: list[FileName], unsealed: Mapping[int, list[Lines]]
) -> list[Mark]:
    """The last marks that count, with the last time and the last position.

    Files are read from the newest life back. What a life has written after it was fenced off is in
    a live file, and only the files of the lives behind it say that it does not count.
    """
    files: list[tuple[tuple[int, int, int], FileName | None]] = []
    files += [(age(name), name) for name in sealed]
    # The two live files of a life belong together.
    files += [(age(FileName("", epoch, slot=0)), None) for epoch in unsealed]
    known: list[Mark] = []
    for (epoch, *_), name in sorted(files, key=itemgetter(0), reverse=True):
        if name is None:
            known += [mark for file in unsealed[epoch] for mark, _ in file.marks]
        else:
            known += read_marks(folder, name)
        counted = unfenced(sorted(known, key=BY_PLACE))
        if says_all(counted):
            return counted
    return unfenced(sorted(known, key=BY_PLACE))


def says_all(counted: list[Mark]) -> bool:
    """Whether the last time and the last position are among these marks, which all count."""
    return any(mark.time_millis is not None for mark in counted) and any(
        mark.position_text is not None for mark in counted
    )


def _leftover(
    folder: Folder, sealed: list[FileName], epoch: int, files: list[Lines]
) -> Leftover | None:
    """The marks of a life's live files that no sealed file has.

    The live files are removed afterwards. So the name of the sealed file says which marks they
    had, also those that cannot be read.
    """
    live = {mark.number: (mark, line) for file in files for mark, line in file.marks}
    left = _unsealed(folder, sealed, epoch, live)
    lasts = [name.last for name in sealed if name.epoch == epoch]
    behind = max((last + 1 for last in lasts if last is not None), default=0)
    first, last = min(left, default=behind), max(left, default=behind)
    is_lost = False
    if _is_beginning_lost(files, live) and min(live, default=behind + 1) > behind:
        first, is_lost = min(first, behind), True
    written = max((_last_written(file, behind) for file in files), default=-1)
    if live and any(file.is_cut for file in files):
        # Another file may have the line that was cut, but how many were behind it is unknown.
        written = max(written, max(live) + 1)
    if written > max(live, default=-1):
        last, is_lost = max(last, written), True
    return (
        Leftover(first, last, [left[number][1] for number in sorted(left)])
        if left or is_lost
        else None
    )


def _last_written(file: Lines, behind: int) -> int:
    """The number of the last mark that was written into a live file: each line behind the sealed ones had one."""
    if file.marks:
        return file.marks[-1][0].number + file.lost_behind
    return behind + file.lost_before - 1 if file.lost_before else -1


def _is_beginning_lost(files: list[Lines], live: dict[int, tuple[Mark, bytes]]) -> bool:
    """Whether a first line cannot be used, and no other file begins with the first mark that is known."""
    begins = {file.marks[0][0].number for file in files if file.marks and not file.lost_before}
    return any(file.lost_before for file in files) and min(live, default=None) not in begins


def _unsealed(
    folder: Folder, sealed: list[FileName], epoch: int, live: dict[int, tuple[Mark, bytes]]
) -> dict[int, tuple[Mark, bytes]]:
    left = dict(live)
    for name in sealed:
        promised = {number for number in live if _promises(name, epoch, number)}
        if promised:
            found = {mark.number: (mark, line) for mark, line in read_lines(folder, name).marks}
            if promised <= found.keys():
                left = {number: left[number] for number in left.keys() - promised}
            else:
                # It is damaged. What it still has goes along, because the new file may have its name.
                left = {**found, **left}
    return left


def _promises(sealed: FileName, epoch: int, number: int) -> bool:
    if sealed.first is None or sealed.last is None:
        return False
    return sealed.epoch == epoch and sealed.first <= number <= sealed.last


def age(name: FileName) -> tuple[int, int, int]:
    """Orders the files of a writer by their marks; the live ones of a life come last."""
    return name.epoch, int(name.first is None), name.first or 0


def own_files(folder: Folder, writer: str) -> list[FileName]:
    """The files of a writer, in no promised order."""
    # Parsing the names of all writers takes ten times as long as listing them.
    return _of_writer(folder.names(own_prefix(writer)), writer)


def _of_writer(names: Iterable[str], writer: str) -> list[FileName]:
    named = map(parse, names)
    return [name for name in named if name is not None and name.writer == writer]


def latest_epoch(folder: Folder, writer: str) -> int:
    """The largest epoch in the names of a writer's files, also of those that were purged; -1 if there is none."""
    names = folder.names(own_prefix(writer))
    there = [name.epoch for name in _of_writer(names, writer)]
    return max([*there, *purged.epochs(names, writer)], default=-1)
