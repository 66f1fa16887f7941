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
from itertools import takewhile

from tidemark_marks._protocol.files import Folder
from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.names import FileName, own_prefix, temporary_epoch
from tidemark_marks._protocol.position import MOST
from tidemark_marks._protocol.text import encode
from tidemark_marks._reading import purged
from tidemark_marks._reading.log import Lines, read_lines, read_marks
from tidemark_marks._reading.rules import BY_PLACE, unfenced
from tidemark_marks._writing.errors import no_epoch_left
from tidemark_marks._writing.past import (
    FilesOfPast,
    Leftover,
    age,
    latest_epoch,
    own_files,
    past_of,
    says_all,
)

MOST_LIVE = 256
"""How many marks a live file has at most."""

_MOST_LIVE_BYTES = 1 << 18


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
        while (epoch := max(latest_epoch(folder, writer) + 1, epoch)) <= MOST:
            claim = FileName(writer, epoch, slot=0)
            if not folder.claim(claim.text):
                # On some file systems a name may be taken and not be listed yet.
                epoch += 1
                continue
            # Read after the claim: a life that begins now either sees this one or is seen.
            past = past_of(folder, writer, claim)
            if latest_epoch(folder, writer) == epoch:
                return Life(folder, writer, epoch, past)
            folder.remove(claim.text)
        raise no_epoch_left(
            writer,
            folder.path,
            "removing the writer's newest file there, or by using another name for the writer",
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
            self._is_overtaken = latest_epoch(self.folder, self.writer) > self.epoch

    def purge(self, before_millis: int) -> None:
        """Removes sealed files whose marks were all written before a time, oldest first.

        Before that, it removes what fenced lives have written too late. Such marks would count again
        once the mark that fences them off is gone.
        """
        for name in own_files(self.folder, self.writer):
            if name.slot is not None and name.epoch < self.epoch:
                self.folder.remove(name.text)
        purge(self.folder, self.writer, before_millis, with_live=False)

    def is_at_seal(self) -> bool:
        """Whether the live files have just been started again: the moment to purge."""
        return len(self._lines) == 1

    def close(self) -> None:
        """Nothing: no file is kept open."""

    def _write(self) -> None:
        if self._is_full():
            numbers, lines = zip(*self._lines[:-1], strict=True)
            self._write_sealed(self.epoch, Leftover(numbers[0], numbers[-1], list(lines)))
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
        for epoch, left in self.past.leftovers.items():
            self._write_sealed(epoch, left)

    def _write_sealed(self, epoch: int, left: Leftover) -> None:
        name = FileName(self.writer, epoch, first=left.first, last=left.last)
        self.folder.write(name.text, b"".join(left.lines), self.epoch)

    def _remove_past(self) -> None:
        for name in self.past.live:
            self.folder.remove(name.text)
        for text in self.folder.names(f".{own_prefix(self.writer)}"):
            epoch = temporary_epoch(text)
            # A later life may be writing just now.
            if epoch is not None and epoch < self.epoch:
                self.folder.remove(text)

    def _live(self, slot: int) -> str:
        return FileName(self.writer, self.epoch, slot=slot).text


def purge(folder: Folder, writer: str, before_millis: int, *, with_live: bool) -> int:
    """Removes a writer's files whose marks were all written before a time, oldest first.

    Returns:
        How many files were removed.
    """
    names = sorted(own_files(folder, writer), key=age)
    if not with_live:
        names = [name for name in names[: _needed(folder, names)] if name.slot is None]
    files = [(name, read_lines(folder, name)) for name in names]
    old = list(takewhile(lambda file: _is_older(*file, before_millis), files))
    if with_live and len(old) == len(files):
        # Before any file is removed: only this note says which files there were.
        purged.note(folder, writer, files)
    for name, _ in old:
        folder.remove(name.text)
    return len(old)


def _is_older(name: FileName, lines: Lines, before_millis: int) -> bool:
    written = [mark.written_millis for mark, _ in lines.marks]
    if name.slot is None and not written:
        # It is damaged, and readers of files must see that.
        return False
    # A life that has written nothing is as old as its epoch.
    return max(written, default=name.epoch) < before_millis


def _needed(folder: Folder, names: list[FileName]) -> int:
    """The first file that stays whatever its age: a writer's last time and position bind all its lives."""
    marks: list[Mark] = []
    for at in reversed(range(len(names))):
        marks += read_marks(folder, names[at])
        if says_all(unfenced(sorted(marks, key=BY_PLACE))):
            return at
    return 0
