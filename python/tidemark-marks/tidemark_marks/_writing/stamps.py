"""The clock of a writer of ingestion time: the times of its rows, and how far they are.

A row is handed over under the lock that its time was taken under. So when `reached` has returned,
every row up to that time has been handed over, and every later row has a later time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tidemark_marks._writing.errors import called_inside


class Stamps:
    """Times that never go back, even if the clock does, or the writer begins a new life.

    Args:
        writer: The writer's name, for errors.
        clock: The present, in ms since the epoch.
        noted_millis: The largest time that the writer has noted, in any life.
    """

    def __init__(self, writer: str, clock: Callable[[], int], noted_millis: int | None) -> None:
        self._writer = writer
        self._clock = clock
        self._lock = threading.Lock()
        self._holder: int | None = None
        self._last = clock() if noted_millis is None else max(clock(), noted_millis + 1)

    @contextmanager
    def stamp(self) -> Iterator[int]:
        """The time of a row, which is handed over inside the block.

        Raises:
            TidemarkError: `MARK_CALL_INSIDE` inside another block.
        """
        self.require_outside()
        with self._lock:
            self._holder = threading.get_ident()
            try:
                self._last = max(self._last, self._clock())
                yield self._last
            finally:
                self._holder = None

    def reached(self) -> int:
        """A time that no later row has: a millisecond before the present."""
        with self.stamp() as millis:
            return millis - 1

    def require_outside(self) -> None:
        """Refuses a call that would wait for its own thread.

        Raises:
            TidemarkError: `MARK_CALL_INSIDE` if this thread is inside a `stamp` block.
        """
        # Only this thread itself can have written its own number.
        if self._holder == threading.get_ident():
            raise called_inside(self._writer, "a row's stamp")
