"""Pravega's aggregation of all writers of a stream into one watermark, with time as a parameter.

The rules are those of Pravega's `PeriodicWatermarking` and of `noteWriterMark` in
`PersistentStreamBase`, with two changes. No timeout means that no writer times out; Pravega's
default of 0 drops a writer immediately. And the position of a writer that is dropped still counts
towards the cut, so that its rows are before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

P = TypeVar("P")


@dataclass(frozen=True)
class Aggregate(Generic[P]):
    """A watermark of all writers.

    Attributes:
        lower_millis: The smallest of the writers' times, in ms.
        upper_millis: The largest of them.
        cut: A position at or after that of every writer.
    """

    lower_millis: int
    upper_millis: int
    cut: P


@dataclass(frozen=True)
class _Writer(Generic[P]):
    time: int
    position: P
    is_alive: bool = True
    behind_since: int | None = None


class StreamMarks(Generic[P]):
    """The newest mark of each writer, and the last watermark that came of them.

    Args:
        cut: The least position at or after these ones and the cut before, which may be None.
        timeout_millis: How long a writer may stay behind before it is dropped, in ms.
        previous: The watermark to continue from.
    """

    def __init__(
        self,
        cut: Callable[[Sequence[P], P | None], P],
        timeout_millis: int | None = None,
        previous: Aggregate[P] | None = None,
    ) -> None:
        self._cut = cut
        self._timeout = timeout_millis
        self._writers: dict[str, _Writer[P]] = {}
        self._left: list[P] = []
        self.watermark = previous

    @property
    def writers(self) -> frozenset[str]:
        """The writers that have not been dropped."""
        return frozenset(self._writers)

    @property
    def tracked(self) -> frozenset[str]:
        """Those of them that were found to be behind, and whose time is running out."""
        behind = (one for one, known in self._writers.items() if known.behind_since is not None)
        return frozenset(behind)

    @property
    def positions(self) -> list[P]:
        """What the next cut comes of: where these writers are and others were, and the cut before."""
        before = [] if self.watermark is None else [self.watermark.cut]
        return [*(one.position for one in self._writers.values()), *self._left, *before]

    def note(self, writer: str, time_millis: int, position: P) -> bool:
        """Takes in a mark; False, and no effect, if its time is below the writer's last one."""
        before = self._writers.get(writer)
        if before is not None and time_millis < before.time:
            return False
        since = None if before is None else before.behind_since
        self._writers[writer] = _Writer(time_millis, position, behind_since=since)
        return True

    def renew(self, writer: str) -> None:
        """The writer is active: it is tracked from the next call that finds it behind."""
        self._writers[writer] = replace(self._writers[writer], behind_since=None)

    def leave(self, position: P) -> None:
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

    def is_active(self, writer: str, now_millis: int) -> bool:
        """Whether it counts: it participates, or is alive and has not been behind for too long.

        A writer that is behind is tracked from the first call that finds it so.
        """
        known = self._writers[writer]
        if self.is_participating(writer):
            self._writers[writer] = replace(known, behind_since=None)
            return True
        if not known.is_alive:
            return False
        since = known.behind_since if known.behind_since is not None else now_millis
        self._writers[writer] = replace(known, behind_since=since)
        return self._timeout is None or now_millis - since < self._timeout

    def run(self, now_millis: int) -> Aggregate[P] | None:
        """One periodic run: the new watermark, or None if there is none."""
        for writer in [one for one in self._writers if not self.is_active(one, now_millis)]:
            self.drop(writer)
        active = list(self._writers.values())
        if not active or not all(map(self.is_participating, self._writers)):
            return None
        previous = None if self.watermark is None else self.watermark.cut
        times = [one.time for one in active]
        positions = [*(one.position for one in active), *self._left]
        self._left.clear()
        self.watermark = Aggregate(min(times), max(times), self._cut(positions, previous))
        return self.watermark
