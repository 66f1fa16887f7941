"""The time window of a position: what is complete there, and the next time that is noted ahead.

Pravega's windows (`WatermarkReaderImpl`) come from watermarks that a controller has aggregated.
These come from each writer's own marks, so the lower bound is never below Pravega's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidemark_marks._protocol.position import Position
from tidemark_marks._reading.html import AsTable, time_or_none
from tidemark_marks._reading.rules import History


@dataclass(frozen=True)
class TimeWindow(AsTable):
    """The event times that a reader is among.

    Attributes:
        lower_millis: No row behind the position has an event time up to this one, in ms since the
            epoch, as far as the writers have kept their word. None if a writer has said nothing yet.
        upper_millis: The next time noted ahead, in ms. None near the end of what is noted.
    """

    lower_millis: int | None
    upper_millis: int | None

    def _shown(self) -> Mapping[str, object]:
        return {
            "no row behind the position up to": time_or_none(self.lower_millis),
            "next time noted ahead": time_or_none(self.upper_millis),
        }


@dataclass(frozen=True)
class Standing:
    """One writer, seen from a position.

    Attributes:
        lower_millis: The largest time it has noted up to there.
        upper_millis: The next larger time it notes behind it.
        is_done: It has ended or is idle by its own word, and nothing of it is known behind.
        is_pending: Marks of it are known behind the position.
        last_active_millis: When it last said something new, by the store's clock; None if that is
            not known.
    """

    lower_millis: int | None
    upper_millis: int | None
    is_done: bool
    is_pending: bool
    last_active_millis: int | None


def standing(history: History, read: Position, *, is_at_end: bool) -> Standing:
    """Where a writer stands, seen from what has been read.

    Raises:
        TidemarkError: `MARK_POSITION_MISMATCH`.
    """
    marks = history.marks
    last = history.last_passed(read, is_at_end=is_at_end)
    passed = bisect_right(history.notes, last)
    noted = history.notes[passed - 1] if passed else -1
    behind = history.notes[passed] if passed < len(history.notes) else -1
    is_pending = last < len(marks) - 1 or history.is_cut_off
    return Standing(
        marks[noted].time_millis if noted >= 0 else None,
        marks[behind].time_millis if behind >= 0 else None,
        last >= 0 and not is_pending and marks[last].kind in ("idle", "end"),
        is_pending,
        history.last_active(max(last, 0)),
    )


def window_at(
    histories: Mapping[str, History],
    read: Position,
    expected: Collection[str],
    idle_after_millis: int | None,
    now_millis: int,
    is_at_end: bool,
) -> TimeWindow:
    """The window of what has been read.

    Args:
        histories: The writers and their marks.
        read: What has been read.
        expected: Writers that hold the lower bound before their first mark.
        idle_after_millis: How much later another writer must have been active for a silent one to
            be left out, in ms; None leaves none out.
        now_millis: The present, which caps what the log says of its own time.
        is_at_end: Whether nothing is left to read. Otherwise a writer with marks ahead is awake.

    Raises:
        TidemarkError: `MARK_POSITION_MISMATCH`.
    """
    if any(writer not in histories for writer in expected):
        return TimeWindow(None, None)
    all_writers = [standing(history, read, is_at_end=is_at_end) for history in histories.values()]
    waiting = [writer for writer in all_writers if not writer.is_done]
    heard = [writer.last_active_millis for writer in all_writers if writer.lower_millis is not None]
    known = [millis for millis in heard if millis is not None]
    if idle_after_millis is not None and known:
        latest = min(max(known), now_millis)
        waiting = [
            writer
            for writer in waiting
            if (writer.is_pending and not is_at_end)
            or writer.last_active_millis is None
            or latest - writer.last_active_millis < idle_after_millis
        ]
    if not waiting:
        return TimeWindow(max(_lowers(all_writers), default=None), None)
    lowers = _lowers(waiting)
    uppers = [writer.upper_millis for writer in waiting if writer.upper_millis is not None]
    return TimeWindow(
        min(lowers) if len(lowers) == len(waiting) else None,
        max(uppers) if len(uppers) == len(waiting) else None,
    )


def _lowers(writers: Collection[Standing]) -> list[int]:
    return [writer.lower_millis for writer in writers if writer.lower_millis is not None]
