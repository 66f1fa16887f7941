"""Sees whether an event loop runs: a thread of its own asks it again and again."""

from __future__ import annotations

import sys
import threading
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable

_LOOK_SECONDS = 0.25
"""How often the loop is asked."""


class Watch:
    """Tells once of a loop that does not answer. It goes on asking, so that others can see for how long."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        of_loop: threading.Thread,
        patience: float,
        stands_still: Callable[[float, str], None],
    ) -> None:
        """Begins to watch.

        Args:
            loop: The loop.
            of_loop: The thread in which it runs.
            patience: How many seconds the loop may take to answer.
            stands_still: Is told once for how many seconds the loop has not answered, and where in
                the code it is. It is called in a thread of the watch.
        """
        self._loop = loop
        self._of_loop = of_loop
        self._patience = patience
        self._stands_still = stands_still
        self._asked_at: float | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tidemark-watch", daemon=True)
        self._thread.start()

    def seconds_without_answer(self) -> float:
        """For how long the loop has not answered."""
        asked_at = self._asked_at
        return 0.0 if asked_at is None else time.monotonic() - asked_at

    def close(self) -> None:
        """Ends the thread."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        has_told = False
        while not self._end.wait(min(_LOOK_SECONDS, self._patience)):
            if self._asked_at is None:
                self._asked_at = time.monotonic()
                try:
                    self._loop.call_soon_threadsafe(self._answer)
                except RuntimeError:
                    # The loop is closed.
                    return
            elif not has_told and (seconds := self.seconds_without_answer()) >= self._patience:
                has_told = True
                self._stands_still(seconds, place_of(self._of_loop))

    def _answer(self) -> None:
        self._asked_at = None


def place_of(thread: threading.Thread) -> str:
    """The line of code that a thread runs, such as `line 7 of client.py, in get`."""
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:
        return "an unknown place"
    code = frame.f_code
    return f"line {frame.f_lineno} of {code.co_filename}, in {code.co_name}"
