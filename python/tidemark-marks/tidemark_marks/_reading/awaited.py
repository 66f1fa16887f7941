"""Whom an answer waits for: the writers that have not come up to a time yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidemark_marks._protocol.times import shown
from tidemark_marks._reading.html import AsTable, time_or_none
from tidemark_marks._reading.rules import History


@dataclass(frozen=True)
class AwaitedWriter(AsTable):
    """A writer that holds an answer. `Marks.waiting_for` returns them; `str()` says it in words.

    Attributes:
        writer: The writer's name. None stands for the first writer that begins: there is none yet,
            and none is expected by name.
        noted_millis: The last time it has noted that can be used, in ms since the epoch; None if
            there is none.
        written_millis: When it wrote its last mark, in ms since the epoch, by its own clock; None
            if it has written none.
    """

    writer: str | None
    noted_millis: int | None
    written_millis: int | None

    def __str__(self) -> str:
        if self.writer is None:
            return "a first writer: there is none yet"
        noted = "nothing" if self.noted_millis is None else shown(self.noted_millis)
        return f"{self.writer}, which has noted {noted}"

    def _shown(self) -> Mapping[str, object]:
        return {
            "writer": "a first writer" if self.writer is None else self.writer,
            "noted up to": time_or_none(self.noted_millis),
            "newest mark written": time_or_none(self.written_millis),
        }


def awaited(
    histories: Mapping[str, History],
    expected: Collection[str],
    left_out: Collection[str],
    millis: int,
) -> tuple[AwaitedWriter, ...]:
    """The writers that have to note a time before all rows up to it have arrived.

    Args:
        histories: The writers and their marks.
        expected: Writers that are waited for before their first mark.
        left_out: Writers that are not waited for.
        millis: The time, in ms since the epoch.

    Returns:
        The writers, the furthest behind first. If no writer is waited for, because all have ended,
        are idle or were left out, it is all of them: one would have to note again. If there is no
        writer, it is one without a name, because an empty result would mean that the time is complete.
    """
    if not histories and not expected:
        return (AwaitedWriter(None, None, None),)
    behind = {
        name: history
        for name, history in histories.items()
        if history.noted_millis is None or history.noted_millis < millis
    }
    holding = {
        name: history
        for name, history in behind.items()
        if not (history.is_done or name in left_out)
    }
    unseen = [AwaitedWriter(name, None, None) for name in set(expected) - histories.keys()]
    found = [
        AwaitedWriter(name, history.noted_millis, history.marks[-1].written_millis)
        for name, history in (holding if holding or unseen else behind).items()
    ]
    return tuple(sorted([*unseen, *found], key=_furthest_behind_first))


def _furthest_behind_first(writer: AwaitedWriter) -> tuple[bool, int, str]:
    return writer.noted_millis is not None, writer.noted_millis or 0, writer.writer or ""
