"""The watermark of all writers of a log, from one reading of it to the next.

The rules are those of Pravega's `PeriodicWatermarking` and of `noteWriterMark` in
`PersistentStreamBase`, with two changes. There is no timeout here, because the log says which writer
has stalled. The position of a dropped writer still counts towards the cut, so that its rows are
before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tidemark_marks._protocol.position import MismatchError, Position, joined
from tidemark_marks._reading.cut import Cut
from tidemark_marks._reading.html import AsTable, time_or_none
from tidemark_marks._reading.rules import History, position_mismatch, stalled


@dataclass(frozen=True)
class Aggregate:
    """A watermark of all writers.

    Attributes:
        lower_millis: The smallest of the writers' times, in ms.
        upper_millis: The largest of them.
        cut: A position at or after that of every writer.
    """

    lower_millis: int
    upper_millis: int
    cut: Position | None


@dataclass(frozen=True)
class _Writer:
    time: int
    position: Position | None
    is_alive: bool = True


class StreamMarks:
    """The newest mark of each writer, and the last watermark that came of them.

    Args:
        cut: The least position at or after these ones and the cut before, which may be None.
        previous: The watermark to continue from.
    """

    def __init__(
        self,
        cut: Callable[[Sequence[Position | None], Position | None], Position | None],
        previous: Aggregate | None = None,
    ) -> None:
        self._cut = cut
        self._writers: dict[str, _Writer] = {}
        self._left: list[Position | None] = []
        self.watermark = previous

    @property
    def writers(self) -> frozenset[str]:
        """The writers that have not been dropped."""
        return frozenset(self._writers)

    @property
    def positions(self) -> list[Position | None]:
        """What the next cut comes of: where these writers are and others were, and the cut before."""
        before = [] if self.watermark is None else [self.watermark.cut]
        return [*(state.position for state in self._writers.values()), *self._left, *before]

    def note(self, writer: str, time_millis: int, position: Position | None) -> bool:
        """Takes in a mark; False, and no effect, if its time is below the writer's last one."""
        before = self._writers.get(writer)
        if before is not None and time_millis < before.time:
            return False
        self._writers[writer] = _Writer(time_millis, position)
        return True

    def leave(self, position: Position | None) -> None:
        """A writer that never noted a time has ended here: the next cut is not before that."""
        self._left.append(position)

    def shutdown(self, writer: str) -> None:
        """The writer has ended: it counts while it participates, and is dropped afterwards."""
        known = self._writers.get(writer)
        if known is not None:
            self._writers[writer] = replace(known, is_alive=False)

    def drop(self, writer: str) -> None:
        """The writer counts no more. The next cut is not before where it was."""
        self._left.append(self._writers.pop(writer).position)

    def is_participating(self, writer: str) -> bool:
        """Whether its time is above the last watermark."""
        return self.watermark is None or self._writers[writer].time > self.watermark.lower_millis

    def is_active(self, writer: str) -> bool:
        """Whether it counts: it participates, or has not ended."""
        return self.is_participating(writer) or self._writers[writer].is_alive

    def run(self) -> Aggregate | None:
        """One periodic run: the new watermark, or None if there is none."""
        for writer in [writer for writer in self._writers if not self.is_active(writer)]:
            self.drop(writer)
        active = list(self._writers.values())
        if not active or not all(map(self.is_participating, self._writers)):
            return None
        previous = None if self.watermark is None else self.watermark.cut
        times = [state.time for state in active]
        positions = [*(state.position for state in active), *self._left]
        self._left.clear()
        self.watermark = Aggregate(min(times), max(times), self._cut(positions, previous))
        return self.watermark


@dataclass(frozen=True)
class StreamWatermark(AsTable):
    """What all writers together have noted.

    Attributes:
        lower_millis: Every row up to this event time is before the cut, in ms since the epoch.
        upper_millis: The largest time that any of the writers has noted, in ms.
        cut: A position at or after that of every writer.
    """

    lower_millis: int
    upper_millis: int
    cut: Cut

    def _shown(self) -> Mapping[str, object]:
        return {
            "every row is written up to": time_or_none(self.lower_millis),
            "largest time of any writer": time_or_none(self.upper_millis),
            "cut": self.cut.text,
        }


class Aggregation:
    """Feeds Pravega's aggregation with what each writer has newly said.

    Args:
        idle_after_millis: When a silent writer is left out, in ms; None for never.
    """

    def __init__(self, idle_after_millis: int | None) -> None:
        self._idle_after = idle_after_millis
        self._stream = StreamMarks(_cut)
        self._fed: dict[str, tuple[object, ...]] = {}

    @property
    def watermark(self) -> StreamWatermark | None:
        """The last watermark; None before the first."""
        last = self._stream.watermark
        if last is None or last.cut is None:
            return None
        return StreamWatermark(last.lower_millis, last.upper_millis, Cut(last.cut))

    @property
    def left_out(self) -> frozenset[str]:
        """Writers that have ended, or were left out for their silence."""
        return frozenset(self._fed) - self._stream.writers

    def update(self, histories: Mapping[str, History], now_millis: int) -> None:
        """Takes in the log as it is now.

        Args:
            histories: The writers and their marks.
            now_millis: The present, in ms since the epoch.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH` if the writers have several kinds of position.
        """
        self._forget_all_but(histories)
        left_out = stalled(histories, self._idle_after, now_millis)
        silent = False
        for writer, history in histories.items():
            if self._feed(history):
                if writer in left_out:
                    self._stream.shutdown(writer)
            elif writer not in left_out and not history.is_done:
                silent = True
        # A writer that has noted no time yet may still send rows of any time.
        while not silent and self._stream.run() is not None:
            continue

    def _forget_all_but(self, histories: Mapping[str, History]) -> None:
        """Forgets writers whose marks were all purged: no reader that begins now would wait for them."""
        for writer in self._stream.writers - histories.keys():
            self._stream.drop(writer)
        # A writer that comes back is fed from its first mark.
        for writer in self._fed.keys() - histories.keys():
            del self._fed[writer]

    def _feed(self, history: History) -> bool:
        """Whether a writer has noted a time that can be used."""
        usable = history.usable
        notes = [at for at in history.notes if at < usable]
        if not notes:
            if history.is_done and usable and history.writer not in self._fed:
                # It has ended without a time. The rows before its end belong into the cut.
                position = history.position(usable - 1)
                self._require_kind(history.writer, position)
                self._stream.leave(position)
                self._fed[history.writer] = ()
            return False
        last = usable - 1 if history.is_done else notes[-1]
        news = (history.marks[usable - 1].place, history.marks[notes[-1]].place, history.is_done)
        if self._fed.get(history.writer) == news:
            return True
        time = history.marks[notes[-1]].time_millis
        position = history.position(last)
        self._require_kind(history.writer, position)
        if time is not None:
            self._stream.note(history.writer, time, position)
        if history.is_done:
            self._stream.shutdown(history.writer)
        self._fed[history.writer] = news
        return True

    def _require_kind(self, writer: str, position: Position | None) -> None:
        others = self._stream.positions
        try:
            _cut([position], next((position for position in others if position is not None), None))
        except MismatchError as problem:
            raise position_mismatch(writer, problem) from problem


def _cut(positions: Sequence[Position | None], previous: Position | None) -> Position | None:
    found = previous
    for position in positions:
        if position is not None:
            found = position if found is None else joined(found, position)
    return found
