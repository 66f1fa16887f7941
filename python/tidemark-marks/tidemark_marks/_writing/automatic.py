"""A writer that notes its clock: for rows whose event time is when they are sent.

The clock is read before the flush, and the row's time is taken under the same lock. So rows that
were stamped before are in the position, and rows that are stamped after have later times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from tidemark_marks._protocol.position import Position
from tidemark_marks._store import WriterLife
from tidemark_marks._writing.errors import valid_position
from tidemark_marks._writing.repeating import Repeating
from tidemark_marks._writing.stamps import Stamps
from tidemark_marks._writing.writer import Flush, MarkWriter, Others


class AutomaticMarkWriter(MarkWriter):
    """A writer that notes the time by itself, each period. `Marks.writer(automatic=...)` makes one.

    Pravega's `automaticallyNoteTime` reads the clock after the position and flushes nothing, so a
    row that is on its way can be older than the time noted. Here it cannot.
    """

    def __init__(
        self,
        life: WriterLife,
        flush: Flush,
        period_millis: int,
        retain_millis: int,
        clock: Callable[[], int],
        others: Others = tuple,
        *,
        takes_any_time: bool = False,
    ) -> None:
        # Also when the clock of a new life is behind: the promise binds all lives.
        self._stamps = Stamps(life.writer, clock, life.past.time_millis)
        super().__init__(life, flush, retain_millis, clock, others, takes_any_time=takes_any_time)
        self._explicit = False
        self._send = flush
        self._repeating = Repeating(self.name, period_millis, self.note_now)

    @contextmanager
    def stamp(self) -> Iterator[int]:
        """The event time of a row, in ms; hand the row over inside the block.

        Times never go back, even if the clock does. Inside the block, no other call of the writer
        is allowed.

        Raises:
            TidemarkError: `MARK_WRITER_CLOSED` after `end` or `close`; `MARK_WRITER_FENCED` once a
                note has found a later life of the writer; `MARK_CALL_INSIDE` inside another block;
                `MARK_WRITER_FORKED` in a fork of the process.

        Example:
            >>> with writer.stamp() as millis:  # doctest: +SKIP
            ...     send(row, event_time=millis)
        """
        self._owner.require_here()
        with self._stamps.stamp() as millis:
            self._require_open()
            self._repeating.require_unfenced()
            yield millis

    def note_now(self) -> None:
        """Flushes, and notes the time a millisecond before the flush began.

        Raises:
            TidemarkError: As `note_time`.
        """
        with self._locked():
            self._require_open()
            time = self._millis(self._stamps.reached(), "clock")
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
        self._owner.require_here()
        self._stop()
        super().end(position, files=files)

    def close(self) -> None:
        """Stops noting, without an end. Does nothing in a fork.

        Raises:
            TidemarkError: `MARK_CALL_INSIDE` inside a `stamp()` block.
        """
        if self._owner.is_here():
            self._stop()
            super().close()

    def _stop(self) -> None:
        self._stamps.require_outside()
        self._repeating.stop()

    def _locked(self) -> AbstractContextManager[object]:
        # The thread that notes may hold the writer's lock and wait for the stamp.
        self._stamps.require_outside()
        return super()._locked()
