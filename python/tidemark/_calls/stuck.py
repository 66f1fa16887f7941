"""What keeps a slot though its row no longer waits for it: a call that was given up, or a thread of a call."""

from __future__ import annotations

from asyncio import TimerHandle
from collections.abc import Callable

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


def may_go_on(timeout: float | None, patience: float) -> float:
    """For how many seconds a call may go on that was given up: for its time-out again, and no shorter than patience."""
    return NO_TIMEOUT_SECONDS if timeout is None else max(timeout, patience)
