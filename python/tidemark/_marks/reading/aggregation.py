"""The watermark of all writers of a log, from one reading of it to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidemark._marks.protocol.position import MismatchError, Position, joined
from tidemark._marks.reading.cut import Cut
from tidemark._marks.reading.rules import History, position_mismatch, stalled
from tidemark._marks.reading.stream import StreamMarks


@dataclass(frozen=True)
class StreamWatermark:
    """What all writers together have noted.

    Attributes:
        lower_millis: Every row up to this event time is before the cut, in ms since the epoch.
        upper_millis: The largest time that any of the writers has noted, in ms.
        cut: A position at or after that of every writer.
    """

    lower_millis: int
    upper_millis: int
    cut: Cut


class Aggregation:
    """Feeds Pravega's aggregation with what each writer has newly said.

    Args:
        idle_after_millis: When a silent writer is left out, in ms; None for never.
    """

    def __init__(self, idle_after_millis: int | None) -> None:
        self._idle_after = idle_after_millis
        # Who has stalled is said by the log, and not by how long this object has been watching.
        self._stream: StreamMarks[Position | None] = StreamMarks(_cut)
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
        while not silent and self._stream.run(now_millis) is not None:
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
            # Any mark shows that the writer was not silent, so its timeout starts again.
            self._stream.renew(history.writer)
        if history.is_done:
            self._stream.shutdown(history.writer)
        self._fed[history.writer] = news
        return True

    def _require_kind(self, writer: str, position: Position | None) -> None:
        others = self._stream.positions
        try:
            _cut([position], next((one for one in others if one is not None), None))
        except MismatchError as problem:
            raise position_mismatch(writer, problem) from problem


def _cut(positions: Sequence[Position | None], previous: Position | None) -> Position | None:
    found = previous
    for position in positions:
        if position is not None:
            found = position if found is None else joined(found, position)
    return found
