"""Whom an answer waits for: the writers that have not come up to a time yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidemark._marks.rules import History


@dataclass(frozen=True)
class AwaitedWriter:
    """A writer that holds an answer. `Marks.waiting_for` returns them.

    Attributes:
        writer: The writer's name.
        noted_millis: The last time it has noted that can be used, in ms since the epoch; None if
            there is none.
        written_millis: When it wrote its last mark, in ms since the epoch, by its own clock; None
            if it is expected and has written none.
    """

    writer: str
    noted_millis: int | None
    written_millis: int | None


def awaited(
    histories: Mapping[str, History],
    expected: Collection[str],
    left_out: Collection[str],
    millis: int,
) -> tuple[AwaitedWriter, ...]:
    """The writers that have to note a time before all rows up to it are there.

    Args:
        histories: The writers and their marks.
        expected: Writers that are waited for before their first mark.
        left_out: Writers that are not waited for.
        millis: The time, in ms since the epoch.

    Returns:
        The writers, the furthest behind first. If nobody is waited for, because all have ended, are
        idle or were left out, it is all of them: one would have to note again.
    """
    behind = {
        name: one
        for name, one in histories.items()
        if one.noted_millis is None or one.noted_millis < millis
    }
    holding = {name: one for name, one in behind.items() if not (one.is_done or name in left_out)}
    unseen = [AwaitedWriter(name, None, None) for name in set(expected) - histories.keys()]
    found = [
        AwaitedWriter(name, one.noted_millis, one.marks[-1].written_millis)
        for name, one in (holding if holding or unseen else behind).items()
    ]
    return tuple(sorted([*unseen, *found], key=_furthest_behind_first))


def _furthest_behind_first(one: AwaitedWriter) -> tuple[bool, int, str]:
    return one.noted_millis is not None, one.noted_millis or 0, one.writer
