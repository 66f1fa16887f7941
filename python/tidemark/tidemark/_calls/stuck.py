"""What keeps a slot though its row no longer waits for it: a call that was given up, or a thread of a call."""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable
from typing import Any

from tidemark._calls.queue import Row

NO_TIMEOUT_SECONDS = 600.0
"""How long such a call may go on if calls have no time-out."""


class Stuck:
    """A call that has passed its time-out and has not ended, or a thread that its call has left running.

    Attributes:
        row: The row that was called; None for a call of an earlier task.
        is_overdue: Whether it has gone on for longer than such a call may.
        then: What is done with the row when it has ended, as its key waits for that.
        timer: What will make it overdue.
    """

    __slots__ = ("is_overdue", "row", "then", "timer")

    def __init__(self, row: Row | None) -> None:
        self.row = row
        self.is_overdue = False
        self.then: Callable[[Row], None] | None = None
        self.timer: TimerHandle | None = None


class Kept:
    """The slots that such calls keep, each until its call has ended."""

    def __init__(
        self, loop: AbstractEventLoop, may_go_on: float, is_overdue: Callable[[], None]
    ) -> None:
        """Keeps none yet.

        Args:
            loop: The loop, which is also the clock.
            may_go_on: For how many seconds such a call may go on.
            is_overdue: Is told when one has gone on for longer.
        """
        self._loop = loop
        self._may_go_on = may_go_on
        self._is_overdue = is_overdue
        self.calls: dict[object, Stuck] = {}
        """What keeps a slot, the oldest first."""

    def keep(self, call: Future[Any], row: Row | None) -> None:
        """Keeps a slot until the call has ended."""
        self.calls[call] = stuck = Stuck(row)
        if row is not None:
            row.given_up = (*(one for one in row.given_up if one in self.calls), call)
        stuck.timer = self._loop.call_later(self._may_go_on, self._overdue, stuck)

    def free(self, call: Future[Any]) -> Stuck | None:
        """Frees the slot of a call that has ended; None if it kept none."""
        stuck = self.calls.pop(call, None)
        if stuck is not None and stuck.timer is not None:
            stuck.timer.cancel()
        return stuck

    def row_of(self, call: object) -> Row | None:
        """The row of a call that keeps a slot."""
        stuck = self.calls.get(call)
        return None if stuck is None else stuck.row

    def of(self, row: Row) -> Stuck | None:
        """What of a row's calls goes on."""
        return next((self.calls[one] for one in row.given_up if one in self.calls), None)

    def overdue(self) -> list[Stuck]:
        """The calls that have gone on for longer than they may, the oldest first."""
        return [stuck for stuck in self.calls.values() if stuck.is_overdue]

    def clear(self) -> list[Any]:
        """Forgets all of them, and returns the calls."""
        calls, self.calls = list(self.calls), {}
        return calls

    def _overdue(self, stuck: Stuck) -> None:
        stuck.is_overdue = True
        self._is_overdue()


def may_go_on(timeout: float | None, patience: float) -> float:
    """For how many seconds a call may go on that was given up: for its time-out again, and no shorter than patience."""
    return NO_TIMEOUT_SECONDS if timeout is None else max(timeout, patience)
