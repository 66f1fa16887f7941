"""Which marks of a log count, and which of them are passed at a position.

The rules have numbers in docs/noted-time/format.md, "What a reader takes". Each is named here at
the code that applies it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter

from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.names import FileName
from tidemark_marks._protocol.position import (
    FilesPosition,
    MismatchError,
    Position,
    is_passed,
    mismatch,
)
from tidemark_marks._reading.log import Contents, Correction, Unread
from tidemark_marks.errors import TidemarkError

BY_PLACE = itemgetter(0, 1, 2)
"""Orders marks by writer, epoch and number."""

_WRITER = itemgetter(0)
_EPOCH = itemgetter(1)


@dataclass(frozen=True)
class History:
    """The marks of one writer that count.

    Attributes:
        writer: The writer's name.
        marks: Its marks by epoch and number.
        unbroken: How many of them have every mark before them, from the first on.
        is_relative: Whether their positions are lists of files.
        notes: The places in `marks` of those that note a time above all before.
        corrections: By how much the writer's clocks were wrong, by epoch and number.
        is_cut_off: Whether a mark behind these was written and cannot be read.
        has_host_clocks: Whether a mark without a correction has the clock of a host.
    """

    writer: str
    marks: Sequence[Mark]
    unbroken: int
    is_relative: bool
    notes: Sequence[int] = field(repr=False)
    corrections: Sequence[Correction] = field(default=(), repr=False)
    is_cut_off: bool = False
    has_host_clocks: bool = False

    def last_active(self, at: int = -1) -> int | None:
        """When the writer last said something new in its marks up to one, in ms since the epoch.

        A time that is not above all before is nothing new. By the store's clock; None if that is not
        known, because clocks of hosts must not be compared.
        """
        at %= len(self.marks)
        passed = bisect_right(self.notes, at)
        first = self.notes[passed - 1] if passed else 0
        while at > first and self.marks[at].kind == "note":
            at -= 1
        return self._written_millis(at)

    def _written_millis(self, at: int) -> int | None:
        mark = self.marks[at]
        found = bisect_left(
            self.corrections, mark.place, key=lambda correction: (correction.epoch, correction.last)
        )
        if found == len(self.corrections) or self.corrections[found].epoch != mark.epoch:
            return None if self.has_host_clocks else mark.written_millis
        return mark.written_millis + self.corrections[found].millis

    def last_passed(self, read: Position, *, is_at_end: bool) -> int:
        """The place in `marks` of the last one that is passed; -1 if none is.

        Args:
            read: What has been read.
            is_at_end: Whether nothing is left to read.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH` if the marks have another kind of position.
        """
        try:
            if isinstance(read, FilesPosition):
                return self._last_with_files(read, is_at_end)
            return self._last_by_position(read)
        except MismatchError as problem:
            raise position_mismatch(self.writer, problem) from problem

    def position(self, at: int) -> Position | None:
        """Where the writer was at a mark; for files, all that it had finished before the mark.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH` if the marks have several kinds of position.
        """
        files: set[str] = set()
        for mark in reversed(self.marks[: at + 1]):
            position = mark.position
            if isinstance(position, FilesPosition):
                files |= position.files
            elif position is not None:
                if self.is_relative:
                    problem = mismatch(position, FilesPosition(frozenset()))
                    raise position_mismatch(self.writer, problem)
                return position
        return FilesPosition(frozenset(files)) if self.is_relative else None

    @property
    def usable(self) -> int:
        """How many marks can ever be passed: with files, those before the first missing one."""
        return self.unbroken if self.is_relative else len(self.marks)

    @property
    def noted_millis(self) -> int | None:
        """The largest time of all marks that can ever be passed; None if they note none."""
        usable = bisect_left(self.notes, self.usable)
        return self.marks[self.notes[usable - 1]].time_millis if usable else None

    @property
    def after(self) -> tuple[int, int]:
        """The place of the mark before the first one; its number is -1 if there was none."""
        first = self.marks[0]
        return (first.epoch, first.number - 1) if first.after is None else first.after

    @property
    def is_done(self) -> bool:
        """Whether the writer has ended, or is idle by its own word, and has said nothing since."""
        # Rules 8 and 9.
        is_whole = 0 < len(self.marks) == self.usable and not self.is_cut_off
        return is_whole and self.marks[-1].kind in ("idle", "end")

    @property
    def is_whole(self) -> bool:
        """Whether the first mark is the first one that the writer ever wrote."""
        return self.marks[0].number == 0 and self.marks[0].after is None

    def _last_with_files(self, read: FilesPosition, is_at_end: bool) -> int:
        # Rule 6: each mark of the chain, and a purged beginning only at the end.
        if not (self.is_whole or is_at_end):
            return -1
        for at in range(self.unbroken):
            position = self.marks[at].position
            if position is not None and not is_passed(position, read):
                return at - 1
        return self.unbroken - 1

    def _last_by_position(self, read: Position) -> int:
        # Rule 5. Positions of a writer do not go back. Where they do, this finds an earlier mark: sound.
        places = range(len(self.marks))
        end = bisect_left(places, True, key=lambda at: not self._is_read(at, read))
        # The last one with a position is passed. By rule 6, those behind it are as far as none is missing.
        at = end - 1
        while at >= 0 and self.marks[at].position_text is None:
            at -= 1
        while at + 1 < end and self._is_joined(at + 1):
            at += 1
        return at

    def _is_joined(self, at: int) -> bool:
        return self.is_whole if at == 0 else follows(self.marks[at], self.marks[at - 1])

    def _is_read(self, at: int, read: Position) -> bool:
        """Whether the position at a mark has been read: its own, or the last one before it, if there is any."""
        while at >= 0:
            position = self.marks[at].position
            if isinstance(position, FilesPosition):
                raise mismatch(position, read)
            if position is not None:
                return is_passed(position, read)
            at -= 1
        return True


def follows(mark: Mark, before: Mark) -> bool:
    """Whether no mark is missing between two neighbors, by rule 6."""
    if mark.epoch == before.epoch:
        return mark.number == before.number + 1
    return mark.after == before.place


def position_mismatch(writer: str, problem: MismatchError) -> TidemarkError:
    """The error for a writer whose marks have another kind of position than is needed."""
    kind, other = problem.args
    return TidemarkError(
        "MARK_POSITION_MISMATCH",
        f"Writer '{writer}' has noted a position of kind {kind}, which cannot be compared with {other}",
        "giving a position of the stream that the mark log is about, or, if the writer does not belong "
        "there, by removing its files or leaving it out with only_expected",
        writer=writer,
        position=kind,
        other=other,
    )


def histories(contents: Contents, latest_millis: int | None) -> dict[str, History]:
    """The marks that count, by writer.

    Args:
        contents: What was read of the log.
        latest_millis: The latest noted time to believe now, in ms since the epoch; None for any.
    """
    promised: dict[str, list[FileName]] = {}
    for name in contents.promised:
        promised.setdefault(name.writer, []).append(name)
    corrections: dict[str, list[Correction]] = {}
    for correction in sorted(contents.corrections):
        corrections.setdefault(correction.writer, []).append(correction)
    ordered = sorted(contents.marks, key=BY_PLACE)
    unread = {mark.writer: mark for mark in contents.unread}
    found = {
        writer: replace(
            _history(writer, list(marks), promised.get(writer, ()), latest_millis),
            corrections=corrections.get(writer, ()),
            is_cut_off=writer in unread,
            has_host_clocks=contents.has_host_clocks,
        )
        for writer, marks in groupby(ordered, key=_WRITER)
    }
    found |= {
        writer: replace(_unreadable(mark), has_host_clocks=contents.has_host_clocks)
        for writer, mark in unread.items()
        if writer not in found
    }
    return found


def _unreadable(unread: Unread) -> History:
    """A writer that exists, and of which no mark can be read: it holds, by rule 9."""
    mark = Mark(unread.writer, unread.epoch, unread.number, "alive", None, unread.written_millis)
    return History(unread.writer, [mark], 0, is_relative=False, notes=(), is_cut_off=True)


def stalled(found: Mapping[str, History], idle_after: int | None, now: int) -> set[str]:
    """The writers that have been silent for too long, by the log's own time."""
    last_active = {writer: history.last_active() for writer, history in found.items()}
    known = [millis for millis in last_active.values() if millis is not None]
    if idle_after is None or not known:
        return set()
    latest = min(max(known), now)
    return {
        writer
        for writer, millis in last_active.items()
        if millis is not None and latest - millis >= idle_after
    }


def unfenced(ordered: Iterable[Mark]) -> list[Mark]:
    """A writer's marks in order, without doubles (rule 1) and those of fenced lives (rule 2)."""
    lives = [list(life) for _, life in groupby(ordered, key=_EPOCH)]
    kept: list[list[Mark]] = []
    fence: tuple[int, int] | None = None
    for life in reversed(lives):
        if fence is not None and life[0].epoch < fence[0]:
            break
        counted = [
            mark
            for mark, before in zip(life, [None, *life], strict=False)
            if (before is None or mark.number != before.number)
            and (fence is None or mark.place <= fence)
        ]
        if not counted:
            continue
        kept.append(counted)
        begins = [mark.after for mark in counted if mark.after is not None]
        if not begins:
            break
        fence = min(begins) if fence is None else min(fence, *begins)
    return [mark for life in reversed(kept) for mark in life]


def _history(
    writer: str, ordered: list[Mark], promised: Iterable[FileName], latest: int | None
) -> History:
    marks = unfenced(ordered)
    if latest is not None and any((mark.time_millis or 0) > latest for mark in marks):
        marks = [_believed(mark, latest) for mark in marks]
    first = marks[0].place
    # Rule 6: marks that are promised or fenced off break the beginning of the chain.
    is_damaged = ordered[0].place < first or any(
        (name.epoch, name.first) < first for name in promised if name.first is not None
    )
    unbroken = 0 if is_damaged else 1
    while 0 < unbroken < len(marks) and follows(marks[unbroken], marks[unbroken - 1]):
        unbroken += 1
    notes: list[int] = []
    # Rule 4.
    highest: int | None = None
    for at, mark in enumerate(marks):
        time = mark.time_millis
        if time is not None and (highest is None or time > highest):
            highest = time
            notes.append(at)
    positions = (mark.position_text for mark in marks if mark.position_text is not None)
    is_relative = next(positions, "").startswith('{"files"')
    return History(writer, marks, unbroken, is_relative, notes)


def _believed(mark: Mark, latest: int) -> Mark:
    """Rule 3: a mark whose time is too far ahead says only that its writer is alive."""
    if mark.time_millis is None or mark.time_millis <= latest:
        return mark
    return mark._replace(kind="alive" if mark.kind == "note" else mark.kind, time_millis=None)
