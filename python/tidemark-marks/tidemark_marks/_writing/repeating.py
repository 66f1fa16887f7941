"""A thread that notes the time again and again, until its writer is closed or fenced off."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from tidemark_marks.errors import TidemarkError

_log = logging.getLogger("tidemark.marks")


class Repeating:
    """Calls a function each period, on a thread of its own.

    Args:
        writer: The writer's name.
        period_millis: How long to wait between two calls.
        note: Notes the time. Whatever it raises is logged, and the next call may succeed.
    """

    def __init__(self, writer: str, period_millis: int, note: Callable[[], None]) -> None:
        self._writer = writer
        self._note = note
        self._stopped = threading.Event()
        self._fenced: TidemarkError | None = None
        self._thread = threading.Thread(
            target=self._run, args=(period_millis,), name=f"tidemark-marks-{writer}", daemon=True
        )
        self._thread.start()

    def require_unfenced(self) -> None:
        """Raises the error of a note that has found a later life of the writer.

        Raises:
            TidemarkError: `MARK_WRITER_FENCED`.
        """
        if self._fenced is not None:
            raise self._fenced

    def is_stopped(self) -> bool:
        """Whether `stop` was called: a note that is waiting should give up."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Waits until no call is running; none follows."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self, period_millis: int) -> None:
        while not self._stopped.wait(period_millis / 1000):
            try:
                self._note()
            except TidemarkError as problem:
                _log.warning("%s", problem)
                if problem.code == "MARK_WRITER_FENCED":
                    self._fenced = problem
                    return
            except Exception:  # noqa: BLE001 - whatever a flush raises: the next one may succeed
                _log.warning("Writer '%s' could not flush", self._writer, exc_info=True)
