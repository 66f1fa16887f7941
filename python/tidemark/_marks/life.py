"""The files of one life of a writer: how it takes over from the life before, and adds marks.

Order matters here, so that a kill between any two system calls loses no mark and doubles none:

- A life claims its epoch by making its first file, which must not exist.
- What the life before has in its live files is sealed before the first mark of this life, and the
  live files are removed after it. So a life that continues to write finds its files gone.
- Every mark since the last sealed file is in each live file. Two files take turns, so one is whole.
- Marks are sealed before they leave the live files.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidemark._errors import TidemarkError
from tidemark._marks.files import Folder
from tidemark._marks.log import read_lines, read_marks
from tidemark._marks.mark import Mark
from tidemark._marks.names import FileName, parse, temporary
from tidemark._marks.position import MOST
from tidemark._marks.rules import BY_PLACE, unfenced
from tidemark._marks.store import Past
from tidemark._marks.text import encode

MOST_LIVE = 256
"""How many marks a live file has at most."""

_MOST_LIVE_BYTES = 1 << 18


@dataclass(frozen=True)
class FilesOfPast(Past):
    """What a writer said in the lives before, and what these have left in files.

    Attributes:
        leftovers: Marks that are in live files only, with their lines, by epoch.
        live: The live files.
    """

    leftovers: dict[int, list[tuple[Mark, bytes]]]
    live: list[FileName]


@dataclass
class Life:
    """One life of a writer.

    Attributes:
        folder: The log.
        writer: The writer's name.
        epoch: The number of the life.
        past: The lives before.
    """

    folder: Folder
    writer: str
    epoch: int
    past: FilesOfPast
    _lines: list[tuple[int, bytes]] = field(default_factory=list)
    _slot: int = 0
    _is_written: bool = False
    _is_overtaken: bool = False

    @staticmethod
    def begin(folder: Folder, writer: str, now_millis: int) -> Life:
        """Claims an epoch that is larger than all before and no smaller than the clock.

        Raises:
            TidemarkError: `MARK_NOT_WRITTEN` if no larger epoch is left.
            OSError: If the folder cannot be read or written.
        """
        folder.make()
        epoch = now_millis
        while (epoch := max(_latest_epoch(folder, writer) + 1, epoch)) <= MOST:
            claim = FileName(writer, epoch, slot=0)
            if not folder.claim(claim.text):
                # On some file systems a name may be taken and not be listed yet.
                epoch += 1
                continue
            # Read after the claim: a life that begins now either sees this one or is seen.
            past = _past(folder, writer, claim)
            if _latest_epoch(folder, writer) == epoch:
                return Life(folder, writer, epoch, past)
            folder.remove(claim.text)
        raise TidemarkError(
            "MARK_NOT_WRITTEN",
            f"Writer '{writer}' can begin no new life: a file of it in {folder.path} has the largest epoch",
            "removing that file, or by using another name for the writer",
            writer=writer,
            location=folder.path,
            reason="the largest epoch is taken",
        )

    @property
    def location(self) -> str:
        """The folder's path."""
        return self.folder.path

    def is_fenced(self) -> bool:
        """Whether a later life has begun, as far as this one has seen, or has removed its files."""
        return self._is_overtaken or not self.folder.has(self._live(self._slot))

    def add(self, mark: Mark) -> None:
        """Makes a mark durable. If that fails, the next call writes it as well.

        Raises:
            OSError: If it could not be written.
            UnusableError: If its line would be too long; it is forgotten then.
        """
        line = encode(mark)
        self._lines.append((mark.number, line))
        try:
            self._write()
        finally:
            # A later life reads the past after it has claimed its epoch. So either it reads this mark, or it is seen
            # here. It may also have removed a file that was just being written.
            self._is_overtaken = _latest_epoch(self.folder, self.writer) > self.epoch

    def purge(self, before_millis: int) -> None:
        """Removes sealed files whose marks were all written before a time, oldest first."""
        purge(self.folder, self.writer, before_millis, with_live=False)

    def is_at_seal(self) -> bool:
        """Whether the live files have just begun anew: the moment to purge."""
        return len(self._lines) == 1

    def close(self) -> None:
        """Nothing: no file is kept open."""

    def _write(self) -> None:
        if self._is_full():
            self._write_sealed(self.epoch, self._lines[:-1])
            self._lines = self._lines[-1:]
        if not self._is_written:
            self._seal_past()
        slot = 1 - self._slot
        self.folder.write(self._live(slot), b"".join(line for _, line in self._lines), self.epoch)
        self._slot = slot
        if not self._is_written:
            self._is_written = True
            self._remove_past()

    def _is_full(self) -> bool:
        # Without the newest mark, which stays in the live files.
        size = sum(len(line) for _, line in self._lines[:-1])
        return len(self._lines) > MOST_LIVE or size > _MOST_LIVE_BYTES

    def _seal_past(self) -> None:
        for epoch, marks in self.past.leftovers.items():
            self._write_sealed(epoch, [(mark.number, line) for mark, line in marks])

    def _write_sealed(self, epoch: int, lines: list[tuple[int, bytes]]) -> None:
        name = FileName(self.writer, epoch, first=lines[0][0], last=lines[-1][0])
        self.folder.write(name.text, b"".join(line for _, line in lines), self.epoch)

    def _remove_past(self) -> None:
        for name in self.past.live:
            self.folder.remove(name.text)
        for text in self.folder.names():
            left = temporary(text)
            # A later life may be writing just now.
            if left is not None and left[0] == self.writer and left[1] < self.epoch:
                self.folder.remove(text)

    def _live(self, slot: int) -> str:
        return FileName(self.writer, self.epoch, slot=slot).text


def purge(folder: Folder, writer: str, before_millis: int, *, with_live: bool) -> int:
    """Removes a writer's files whose marks were all written before a time, oldest first.

    Returns:
        How many files were removed.
    """
    removed = 0
    names = sorted(_own(folder, writer), key=_age)
    for name in names if with_live else names[: _needed(folder, names)]:
        if name.slot is not None and not with_live:
            continue
        written = [mark.written_millis for mark in read_marks(folder, name)]
        if name.slot is None and not written:
            # It is damaged, and readers of files must see that.
            break
        # A life that has written nothing is as old as its epoch.
        if max(written, default=name.epoch) >= before_millis:
            break
        folder.remove(name.text)
        removed += 1
    return removed


def _needed(folder: Folder, names: list[FileName]) -> int:
    """The first file that stays whatever its age: a writer's last time and position bind all its lives."""
    marks: list[Mark] = []
    for at in reversed(range(len(names))):
        marks += read_marks(folder, names[at])
        if _says_all(marks):
            return at
    return 0


def _age(name: FileName) -> tuple[int, int, int]:
    return name.epoch, int(name.first is None), name.first or 0


def _own(folder: Folder, writer: str) -> list[FileName]:
    named = (parse(text) for text in folder.names())
    return [name for name in named if name is not None and name.writer == writer]


def _latest_epoch(folder: Folder, writer: str) -> int:
    return max((name.epoch for name in _own(folder, writer)), default=-1)


def _past(folder: Folder, writer: str, claim: FileName) -> FilesOfPast:
    names = [name for name in _own(folder, writer) if name != claim]
    live = [name for name in names if name.slot is not None]
    sealed = sorted((name for name in names if name.slot is None), key=_age)
    lines = {name: read_lines(folder, name) for name in live}
    unsealed: dict[int, dict[int, tuple[Mark, bytes]]] = {}
    for name, pairs in lines.items():
        unsealed.setdefault(name.epoch, {}).update(
            (mark.number, (mark, line)) for mark, line in pairs
        )
    leftovers = {
        epoch: _leftovers(folder, sealed, epoch, marks) for epoch, marks in unsealed.items()
    }
    places = [(name.epoch, name.last) for name in sealed if name.last is not None]
    known = [mark for pairs in lines.values() for mark, _ in pairs]
    counted = _counted(known)
    while sealed and not _says_all(counted):
        known += read_marks(folder, sealed.pop())
        counted = _counted(known)
    times = [mark.time_millis for mark in counted if mark.time_millis is not None]
    positions = [mark.position_text for mark in counted if mark.position_text is not None]
    if counted:
        places.append(counted[-1].place)
    return FilesOfPast(
        counted[-1] if counted else None,
        max(places, default=None),
        max(times, default=None),
        positions[-1] if positions else None,
        {epoch: marks for epoch, marks in leftovers.items() if marks},
        live,
    )


def _counted(marks: list[Mark]) -> list[Mark]:
    return unfenced(sorted(marks, key=BY_PLACE))


def _says_all(counted: list[Mark]) -> bool:
    return any(mark.time_millis is not None for mark in counted) and any(
        mark.position_text is not None for mark in counted
    )


def _leftovers(
    folder: Folder, sealed: list[FileName], epoch: int, live: dict[int, tuple[Mark, bytes]]
) -> list[tuple[Mark, bytes]]:
    """The marks of live files that no sealed file has, by their numbers."""
    left = dict(live)
    for name in sealed:
        promised = {number for number in live if _promises(name, epoch, number)}
        if promised:
            found = {mark.number: (mark, line) for mark, line in read_lines(folder, name)}
            if promised <= found.keys():
                left = {number: left[number] for number in left.keys() - promised}
            else:
                # It is damaged. What it still has goes along, because the new file may have its name.
                left = {**found, **left}
    return [left[number] for number in sorted(left)]


def _promises(sealed: FileName, epoch: int, number: int) -> bool:
    if sealed.first is None or sealed.last is None:
        return False
    return sealed.epoch == epoch and sealed.first <= number <= sealed.last
