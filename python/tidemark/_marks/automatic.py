"""A writer that notes its clock: for rows whose event time is when they are sent.

The clock is read before the flush, and the row's time is taken under the same lock. So rows that
were stamped before are in the position, and rows that are stamped after have later times.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from tidemark._errors import TidemarkError
from tidemark._marks.checks import valid_position
from tidemark._marks.life import Life
from tidemark._marks.position import Position
from tidemark._marks.writer import Flush, MarkWriter

_log = logging.getLogger("tidemark")


class AutomaticMarkWriter(MarkWriter):
    """A writer that notes the time by itself, each period. `Marks.writer(automatic=...)` makes one.

    Pravega's `automaticallyNoteTime` reads the clock after the position and flushes nothing, so a
    row that is on its way can be older than the time noted. Here it cannot.
    """

    def __init__(
        self,
        life: Life,
        flush: Flush,
        period_millis: int,
        retain_millis: int,
        clock: Callable[[], int],
    ) -> None:
        super().__init__(life, flush, retain_millis, clock)
        self._explicit = False
        self._send = flush
        self._stamping = threading.Lock()
        self._fenced: TidemarkError | None = None
        # Also when the clock of a new life is behind: the promise binds all lives.
        self._stamp = clock() if self._time is None else max(clock(), self._time + 1)
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(period_millis,), name=f"tidemark-marks-{self.name}", daemon=True
        )
        self._thread.start()

    @contextmanager
    def stamp(self) -> Iterator[int]:
        """The event time of a row, in ms; hand the row over inside the block.

        Times never go back, even if the clock does.

        Raises:
            TidemarkError: `MARK_WRITER_CLOSED` after `end` or `close`, and `MARK_WRITER_FENCED` once
                a note has found a later life of the writer.

        Example:
            >>> with writer.stamp() as millis:  # doctest: +SKIP
            ...     producer.produce("orders", value, timestamp=millis)
        """
        with self._stamping:
            self._require_open()
            if self._fenced is not None:
                raise self._fenced
            self._stamp = max(self._stamp, self._clock())
            yield self._stamp

    def note_now(self) -> None:
        """Flushes, and notes the time a millisecond before the flush began.

        Raises:
            TidemarkError: As `note_time`.
        """
        with self._lock:
            self._require_open()
            with self._stamping:
                self._stamp = max(self._stamp, self._clock())
                time = self._stamp - 1
            self._add("note", time, valid_position(self._send()))

    def __enter__(self) -> AutomaticMarkWriter:
        return self

    def end(self, position: Position | None = None, *, files: Iterable[str] | None = None) -> None:
        """Stops noting, and states that the writer has no more rows.

        Args:
            position: As for any writer.
            files: As for any writer.

        Raises:
            TidemarkError: As `note_time`.
        """
        self._stop()
        super().end(position, files=files)

    def close(self) -> None:
        """Stops noting, without an end."""
        self._stop()
        super().close()

    def _stop(self) -> None:
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self, period_millis: int) -> None:
        while not self._stopped.wait(period_millis / 1000):
            try:
                self.note_now()
            except TidemarkError as problem:
                _log.warning("%s", problem)
                if problem.code == "MARK_WRITER_FENCED":
                    self._fenced = problem
                    return
            except Exception:  # noqa: BLE001 - whatever the flush raises: the next one may succeed
                _log.warning("Writer '%s' could not flush", self.name, exc_info=True)
