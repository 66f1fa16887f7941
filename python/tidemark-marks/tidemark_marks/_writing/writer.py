"""A writer: it notes how far it is, and a mark is durable when the call returns."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from tidemark_marks._protocol.file_names import require_no_folder
from tidemark_marks._protocol.mark import Kind, Mark
from tidemark_marks._protocol.position import (
    FilesPosition,
    KafkaPosition,
    Position,
    decode_position,
    encode_position,
    joined,
)
from tidemark_marks._protocol.text import UnusableError
from tidemark_marks._protocol.times import Time, held_millis_up_to, millis_up_to
from tidemark_marks._store import WriterLife
from tidemark_marks._writing.closing import ClosedByWith
from tidemark_marks._writing.errors import (
    automatic,
    closed,
    fenced,
    files_position,
    no_position,
    not_written,
    too_long,
    valid_position,
)
from tidemark_marks._writing.neighbors import require_same_kind
from tidemark_marks._writing.owner import Owner
from tidemark_marks._writing.rising import require_position_in_order, require_time_in_order
from tidemark_marks.errors import TidemarkError

_log = logging.getLogger("tidemark.marks")

Flush = Callable[[], Position]

Others = Callable[[], Iterable[tuple[str, Position]]]
"""Other writers of the log, each with a position."""


class MarkWriter(ClosedByWith):
    """A writer of rows that notes its times. `Marks.writer` makes one; close it, or use `with`.

    Any thread may call it. One process at a time may have a writer of a name: a later one fences
    off the earlier one, whose next call raises. A fork of the process may not call it.

    Attributes:
        name: The writer's name.
        epoch: The number of this life of the writer.
        location: The location of the mark log.
    """

    def __init__(
        self,
        life: WriterLife,
        flush: Flush | None,
        retain_millis: int,
        clock: Callable[[], int],
        others: Others = tuple,
        *,
        takes_any_time: bool = False,
    ) -> None:
        self.name = life.writer
        self.epoch = life.epoch
        self.location = life.location
        self._owner = Owner(life.writer)
        self._life = life
        self._flush = flush
        self._retain = retain_millis
        self._clock = clock
        self._others = others
        self._takes_any_time = takes_any_time
        self._lock = threading.RLock()
        self._number = 0
        self._time = life.past.time_millis
        past = life.past.position_text
        self._position = None if past is None else decode_position(past)
        self._is_kind_right = past is not None
        self._is_closed = False
        self._explicit = True
        self._add("alive")

    def note_time(
        self,
        time: Time,
        position: Position | None = None,
        *,
        files: Iterable[str] | None = None,
        max_time: Time | None = None,
    ) -> None:
        """States that every row with an event time up to `time` is before a position.

        Call it when these rows are where readers find them: a file renamed into place, a record
        acknowledged. A position too far is sound, one too near is not. Pravega's
        `EventStreamWriter.noteTime` takes its position without waiting for acknowledgements; this
        call first calls the writer's `flush`, if it has one and no position is given.

        Args:
            time: The time. Fractions of a millisecond are left out.
            position: Where the writer is.
            files: For a writer of files: those it has finished since its mark before. Each is a name
                relative to the path that is read, and neither a folder nor a pattern nor hidden.
            max_time: The largest event time of any row before the position, if it is known.

        Raises:
            TidemarkError: `MARK_GOES_BACK` if the time or an offset is below the last one, and
                nothing is written; `MARK_POSITION_MISMATCH` for another kind of position than
                before, or than all other writers of the log have noted;
                `MARK_NOT_WRITTEN` if the log cannot be written (the next mark that can be written
                carries this one along); `MARK_TOO_LONG`; `MARK_WRITER_FENCED`;
                `MARK_WRITER_CLOSED`; `MARK_WRITER_FORKED` in a fork of the process;
                `MARK_AUTOMATIC` for a writer with `automatic`; `INVALID_OPTION` for what is not a time or
                position, for a name that no source of files lists, and for a time that no timestamp of
                Spark can hold, unless the `Marks` has `max_ahead=None`.
        """
        self._require_explicit()
        millis = self._millis(time)
        largest = None if max_time is None else self._millis(max_time, "max_time")
        with self._locked():
            self._require_open()
            self._add("note", millis, self._where(position, files), largest)

    def note_through(
        self, publish: Callable[[Mark], None], time: Time, max_time: Time | None = None
    ) -> None:
        """As `note_time` with the writer's `flush`, by a mark that the caller writes.

        If that raises, the writer has said nothing. No other mark has its number, because it may
        come to light.

        Args:
            publish: Writes the mark so that it counts when the call returns.
            time: The time.
            max_time: As for `note_time`.
        """
        self._require_explicit()
        millis = self._millis(time)
        largest = None if max_time is None else self._millis(max_time, "max_time")
        with self._locked():
            self._require_open()
            self._add("note", millis, self._where(None, None), largest, publish)

    def commit(self, time: Time | None, files: Iterable[str]) -> None:
        """Notes files that were published together, as Pravega's `Transaction.commit` does.

        Files may be committed in any order of their times. A time below the last one is not noted,
        as in Pravega, but the files are listed: later marks depend on them.

        Args:
            time: The commit's time; None notes none.
            files: The files, which are in place.

        Raises:
            TidemarkError: As `note_time`, without `MARK_GOES_BACK`.
        """
        if time is not None:
            self._require_explicit()
        millis = None if time is None else self._millis(time)
        position = files_position(files)
        with self._locked():
            self._require_open()
            if millis is None or (self._time is not None and millis < self._time):
                self._add("alive", None, position)
            else:
                self._add("note", millis, position)

    def alive(self) -> None:
        """States that the writer is running and may still send rows: it is not to be left out.

        Raises:
            TidemarkError: As `note_time`.
        """
        with self._locked():
            self._require_open()
            self._add("alive")

    def idle(self) -> None:
        """Asks readers to leave the writer out until its next mark.

        Its position is that of its last mark, or what `flush` returns.

        Raises:
            TidemarkError: As `note_time`.
        """
        with self._locked():
            self._require_open()
            self._add("idle", None, self._at_end())

    def end(self, position: Position | None = None, *, files: Iterable[str] | None = None) -> None:
        """States that the writer has no more rows behind a position, ever, and closes it.

        Readers do not wait for it from then on. So a job that runs again each hour is closed between
        its runs, and does not end. A later life of the writer is waited for again.

        Args:
            position: Where the writer is. By default what `flush` returns, or the last position
                noted: then what was written after that is promised nothing.
            files: For a writer of files: those it has finished since its mark before.

        Raises:
            TidemarkError: As `note_time`.
        """
        with self._locked():
            if self._is_closed:
                return
            given = position is not None or files is not None
            self._add("end", None, self._where(position, files) if given else self._at_end())
            self._shut()

    def close(self) -> None:
        """Closes the writer without an end: readers wait for its next life. Does nothing in a fork."""
        # What a fork has inherited is not its own to close.
        if self._owner.is_here():
            with self._locked():
                self._shut()

    def _shut(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._life.close()

    def _locked(self) -> AbstractContextManager[object]:
        """Keeps other threads out, and forks."""
        self._owner.require_here()
        return self._lock

    def _require_explicit(self) -> None:
        if not self._explicit:
            raise automatic(self.name, "no time can be given", "calling stamp() for each row")

    def _millis(self, time: Time, option: str = "time") -> int:
        """A time as it is noted. What is not a clock time need not be one that a timestamp can hold."""
        return (millis_up_to if self._takes_any_time else held_millis_up_to)(time, option)

    def _where(self, position: Position | None, files: Iterable[str] | None) -> Position:
        if files is not None and position is None:
            return files_position(files)
        if position is None and self._flush is not None:
            position = valid_position(self._flush())
        if position is None or files is not None:
            raise no_position(position, "either position or files, or the writer's flush")
        return valid_position(position)

    def _at_end(self) -> Position | None:
        if self._flush is not None:
            return valid_position(self._flush())
        return files_position(()) if isinstance(self._position, FilesPosition) else self._position

    def _add(
        self,
        kind: Kind,
        time: int | None = None,
        position: Position | None = None,
        max_time: int | None = None,
        publish: Callable[[Mark], None] | None = None,
    ) -> None:
        """Checks a mark against what was said before, and writes it."""
        self._require_unfenced()
        require_time_in_order(self.name, self._time, time)
        require_position_in_order(self.name, self._position, position)
        if isinstance(position, FilesPosition):
            require_no_folder(position, self.location)
        if position is not None:
            self._require_same_kind(position)
        if isinstance(position, KafkaPosition) and self._position is not None:
            # A partition that is left out is where it was.
            position = joined(self._position, position)
        mark = Mark(
            self.name,
            self.epoch,
            self._number,
            kind,
            time,
            max(self._clock(), 0),
            None if position is None else encode_position(position),
            max_time,
            self._life.past.place if self._number == 0 else None,
        )
        if publish is not None:
            self._number += 1
            publish(mark)
            self._said(time, position)
            return
        try:
            self._life.add(mark)
        except UnusableError as problem:
            raise too_long(self.name) from problem
        except OSError as problem:
            self._count(time, position)
            self._require_unfenced()
            raise self._not_written(problem) from problem
        self._count(time, position)
        self._require_unfenced()
        if self._life.is_at_seal():
            self._purge()

    def _count(self, time: int | None, position: Position | None) -> None:
        """What counts as said also if the log has failed: the next mark that is written has it."""
        self._number += 1
        self._said(time, position)

    def _said(self, time: int | None, position: Position | None) -> None:
        self._time = time if time is not None else self._time
        self._position = position if position is not None else self._position

    def _purge(self) -> None:
        try:
            self._life.purge(self._clock() - self._retain)
        except OSError as problem:
            # The mark itself is durable, and the next sealed file is the next moment to purge.
            _log.warning("Writer '%s' could not remove old marks: %s", self.name, problem)

    def _require_open(self) -> None:
        if self._is_closed:
            raise closed(self.name)

    def _require_same_kind(self, position: Position) -> None:
        if self._is_kind_right:
            return
        try:
            require_same_kind(self.name, self.location, position, self._others())
            self._is_kind_right = True
        except OSError as problem:
            # No mark is lost because the others cannot be looked at. They are with the next one.
            _log.warning(
                "Writer '%s' could not look at other writers' marks: %s", self.name, problem
            )

    def _not_written(self, problem: OSError) -> TidemarkError:
        return not_written(self.name, self.location, problem)

    def _require_unfenced(self) -> None:
        try:
            is_fenced = self._life.is_fenced()
        except OSError as problem:
            raise self._not_written(problem) from problem
        if is_fenced:
            raise fenced(self.name, self.epoch)
