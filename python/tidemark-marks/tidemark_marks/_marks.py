"""`Marks`: a mark log, for writers that note their times and for readers that ask what is complete."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, overload

from tidemark_marks._kafka.automatic import AutomaticKafkaMarkWriter
from tidemark_marks._kafka.deliveries import Producer
from tidemark_marks._kafka.ends import end_offsets
from tidemark_marks._kafka.rows import Rows
from tidemark_marks._kafka.topic_life import TopicLife
from tidemark_marks._kafka.transaction import Transaction
from tidemark_marks._kafka.writer import KafkaMarkWriter
from tidemark_marks._locations import open_store
from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.names import require_writer
from tidemark_marks._protocol.position import MOST, Position
from tidemark_marks._protocol.skipped import SkippedLine
from tidemark_marks._protocol.times import (
    Time,
    length_millis,
    millis_from,
    millis_up_to,
    wall_clock,
)
from tidemark_marks._reading import log
from tidemark_marks._reading.aggregation import Aggregation, StreamWatermark
from tidemark_marks._reading.awaited import AwaitedWriter, awaited
from tidemark_marks._reading.cut import Cut, ends_at, joined_cut
from tidemark_marks._reading.html import table, time_or_none
from tidemark_marks._reading.ranges import Range, between_times
from tidemark_marks._reading.rules import BY_PLACE, History, histories, stalled
from tidemark_marks._reading.window import TimeWindow, window_at
from tidemark_marks._reading.writers_table import writers_table
from tidemark_marks._store import WriterLife
from tidemark_marks._writing.automatic import AutomaticMarkWriter
from tidemark_marks._writing.errors import (
    not_read,
    not_written,
    require_partition_numbers,
    topic_names,
)
from tidemark_marks._writing.stamps import Stamps
from tidemark_marks._writing.writer import Flush, MarkWriter
from tidemark_marks.errors import TidemarkError, invalid_option

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_log = logging.getLogger("tidemark.marks")

MANY_WRITERS = 1000
"""A log with more is logged as a warning once: a writer is a process or a region, not a device."""


@dataclass(frozen=True)
class MarkLog:
    """A mark log as it was read.

    Attributes:
        marks: All marks that can be used, by writer, epoch and number.
        skipped: The lines that cannot be used, and why: the first 1,000 of them.
        skipped_count: How many lines cannot be used.
    """

    marks: Sequence[Mark]
    skipped: Sequence[SkippedLine]
    skipped_count: int

    def _repr_html_(self) -> str:
        newest = sorted(self.marks, key=lambda mark: mark.written_millis, reverse=True)
        rows = (
            (
                mark.writer,
                mark.kind,
                time_or_none(mark.time_millis),
                mark.position_text,
                time_or_none(mark.written_millis),
            )
            for mark in newest
        )
        left_out = f"{self.skipped_count:,} lines cannot be used" if self.skipped_count else ""
        heads = ("writer", "kind", "time", "position", "written")
        return table(
            heads, rows, caption=f"{len(self.marks):,} marks, the newest first", note=left_out
        )


class Marks:
    """A mark log in a folder or in Kafka. It needs neither Spark nor a JVM.

    Nothing is read before it is asked. A folder that does not exist has no marks, and the logger
    `tidemark` warns of it once. A user who may write the log can hold or push the watermarks of
    its readers: give the log the permissions of the data.

    Args:
        location: The folder, such as `/lake/orders/_tidemark`. Only local file systems, and what is
            mounted there; it is made by the first writer. Or `kafka:<topic>/<stream>`, such as
            `kafka:tidemark-marks/orders`: a topic has the marks of many streams. Without a stream,
            it has those of one. The topic must exist.
        options: For Kafka only: settings of confluent-kafka for reading and writing marks, with
            `bootstrap.servers`. It needs `pip install tidemark-marks[kafka]`.
        expected: Writers that hold every answer before their first mark.
        only_expected: Whether other writers are ignored.
        idle_after: A writer is left out if it has said nothing for so long while others have. By
            default none is. (Pravega's `timestampAggregationTimeout`.)
        max_ahead: A time further ahead of the clock is not believed until its time has come, so
            that one mark dated 2100 does not make all rows late. None for times that are not clock
            times: then writers may note any whole number of 64 bits, else only what a timestamp of
            Spark can hold.
        clock: The present, in ms since the epoch. If it is given, writers and readers are taken to
            share it, and marks are dated by their writers instead of their store.

    Raises:
        TidemarkError: `INVALID_OPTION`.

    Example:
        >>> marks = Marks("/lake/orders/_tidemark")  # doctest: +SKIP
        >>> with marks.writer("gateway-7") as writer:  # doctest: +SKIP
        ...     writer.note_time("2026-11-23T03:00:00Z", files=["2026-11-23-0300.json"])
        >>> marks.is_complete("2026-11-23T03:00:00Z")  # doctest: +SKIP
        True
    """

    def __init__(
        self,
        location: str | os.PathLike[str],
        *,
        options: Mapping[str, Any] | None = None,
        expected: Iterable[str] = (),
        only_expected: bool = False,
        idle_after: timedelta | None = None,
        max_ahead: timedelta | None = timedelta(days=1),
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._store = open_store(location, options)
        self.location = self._store.location
        self.options = None if options is None else dict(options)
        names = [expected] if isinstance(expected, str) else expected
        self.expected = frozenset(require_writer(name) for name in names)
        self.only_expected = only_expected
        self.idle_after_millis = (
            None if idle_after is None else length_millis("idle_after", idle_after)
        )
        self.max_ahead_millis = None if max_ahead is None else length_millis("max_ahead", max_ahead)
        self._clock = clock
        self._aggregation = Aggregation(self.idle_after_millis)
        self._warned: set[str] = set()

    @overload
    def writer(
        self,
        name: str,
        *,
        flush: Flush | None = None,
        automatic: None = None,
        retain: timedelta = timedelta(days=7),
    ) -> MarkWriter: ...

    @overload
    def writer(
        self,
        name: str,
        *,
        flush: Flush,
        automatic: timedelta,
        retain: timedelta = timedelta(days=7),
    ) -> AutomaticMarkWriter: ...

    def writer(
        self,
        name: str,
        *,
        flush: Flush | None = None,
        automatic: timedelta | None = None,
        retain: timedelta = timedelta(days=7),
    ) -> MarkWriter:
        """Begins a new life of a writer, and says that it is alive.

        An earlier writer of the name is fenced off: its next call raises.

        Args:
            name: The writer's name: a process or a region, not a device. Up to 160 characters.
            flush: Sends all rows, waits until they are acknowledged, and returns the position
                behind them. `note_time` without a position calls it.
            automatic: Notes the clock each time so long has passed; it needs `flush`.
            retain: How long the writer keeps its marks in a folder. A topic has a retention.

        Returns:
            The writer: a context manager that closes it, and states nothing. Only `end` says that no
            rows follow.

        Raises:
            TidemarkError: `INVALID_OPTION`; `MARK_NOT_WRITTEN` if the log cannot be written.
        """
        require_writer(name)
        retain_millis = length_millis("retain", retain)
        period = None if automatic is None else length_millis("automatic", automatic)
        if period is not None and flush is None:
            raise invalid_option(
                "automatic",
                automatic,
                "given together with flush, so that a position is known",
                "giving flush, a function that sends all rows and returns the position behind them",
            )
        life = self._begin(name)
        others = partial(self._others, name)
        any_time = self.max_ahead_millis is None
        if period is not None and flush is not None:
            return AutomaticMarkWriter(
                life,
                flush,
                period,
                retain_millis,
                self._clock,
                others,
                takes_any_time=any_time,
            )
        return MarkWriter(life, flush, retain_millis, self._clock, others, takes_any_time=any_time)

    @overload
    def kafka_writer(
        self,
        producer: Producer,
        topics: str | Iterable[str],
        writer: str,
        *,
        admin: AdminClient | None,
        automatic: None = None,
        retain: timedelta = timedelta(days=7),
    ) -> KafkaMarkWriter: ...

    @overload
    def kafka_writer(
        self,
        producer: Producer,
        topics: str | Iterable[str],
        writer: str,
        *,
        admin: AdminClient | None,
        automatic: timedelta,
        retain: timedelta = timedelta(days=7),
    ) -> AutomaticKafkaMarkWriter: ...

    def kafka_writer(
        self,
        producer: Producer,
        topics: str | Iterable[str],
        writer: str,
        *,
        admin: AdminClient | None,
        automatic: timedelta | None = None,
        retain: timedelta = timedelta(days=7),
    ) -> KafkaMarkWriter:
        """Begins a new life of a writer of Kafka rows, which sends them and notes its times.

        It needs `confluent-kafka`: `pip install tidemark-marks[kafka]`.

        Args:
            producer: A `confluent_kafka.Producer`, or one of its subclasses. It stays the caller's.
            topics: The topic or topics that the writer writes to.
            writer: The writer's name, as for `writer`.
            admin: A `confluent_kafka.admin.AdminClient` for the same brokers: the writer begins behind
                all rows that are in the topics. With None, rows that a killed life has sent, and
                not noted, become late.
            automatic: Stamps each row with the clock, and notes the clock each time so long has
                passed.
            retain: How long the writer keeps its marks in a folder. A topic has a retention.

        Returns:
            The writer: a context manager that closes it, and states nothing. Only `end` says that no
            rows follow.

        Raises:
            TidemarkError: As `writer`; `MARK_POSITION_UNKNOWN` if `admin` gets no answer.

        Example:
            >>> with marks.kafka_writer(  # doctest: +SKIP
            ...     producer, "orders", "gateway-7", admin=admin
            ... ) as writer:
            ...     writer.produce(b"an order", b"its key")
            ...     writer.note_time("2026-11-23T03:00:00Z")
        """
        require_writer(writer)
        names = topic_names(topics)
        retain_millis = length_millis("retain", retain)
        period = None if automatic is None else length_millis("automatic", automatic)
        life = self._begin(writer)
        rows = Rows()
        transaction = Transaction(producer, life) if isinstance(life, TopicLife) else None
        others = partial(self._others, writer)
        inner = MarkWriter(
            life,
            rows.position,
            retain_millis,
            self._clock,
            others,
            takes_any_time=self.max_ahead_millis is None,
        )
        if admin is not None:
            # After the earlier life is fenced off: what it has sent until then is before the ends.
            rows.begin_at(end_offsets(admin, names, writer))
        elif life.past.last is not None and life.past.last.kind != "end":
            _log.warning(
                "Writer '%s' was not ended in its life before. Rows that it has sent since its last mark "
                "may become late; kafka_writer(admin=AdminClient(...)) prevents that",
                writer,
            )
        if period is None:
            return KafkaMarkWriter(inner, rows, producer, names, transaction)
        stamps = Stamps(writer, self._clock, life.past.time_millis)
        return AutomaticKafkaMarkWriter(inner, rows, producer, names, stamps, period)

    def read(self) -> MarkLog:
        """All marks of the log, also those that do not count, and the lines that were left out.

        Raises:
            TidemarkError: `MARK_LOG_NOT_READ` if the log cannot be read. A missing folder has no
                marks; a missing topic cannot be read.
        """
        with self._reading(), log.many_objects():
            found = self._store.read()
            unique = groupby(sorted(found.marks, key=BY_PLACE), key=BY_PLACE)
            return MarkLog([next(same) for _, same in unique], found.skipped, found.skipped_count)

    def watermark(self) -> StreamWatermark | None:
        """The watermark of all writers, as Pravega's controller would emit it.

        It never goes back from one call of this object to the next. A writer that has ended counts
        up to its last time, and then no more.

        Returns:
            The watermark; None if an expected writer, or any writer at all, has yet to note a time.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH` if the writers have several kinds of position;
                `MARK_LOG_NOT_READ` if the log cannot be read.
        """
        now = self._clock()
        return self._aggregated(self._histories(now), now)

    def is_complete(self, time: Time) -> bool:
        """Whether every row up to a time has arrived, as far as the writers have kept their word.

        What a scheduler asks before it starts the job of an hour.

        Args:
            time: The time.

        Raises:
            TidemarkError: As `watermark`; `INVALID_OPTION` for what is not a time.
        """
        millis = millis_from(time)
        watermark = self.watermark()
        return watermark is not None and watermark.lower_millis >= millis

    def waiting_for(self, time: Time) -> tuple[AwaitedWriter, ...]:
        """The writers that `is_complete(time)` waits for. Expected writers without a mark are among them.

        Args:
            time: The time.

        Returns:
            The writers, the furthest behind first; none if all rows up to the time have arrived. If
            all writers have ended before the time, it is all of them: one would have to note again.
            As long as there is no writer at all, it is one whose name is None.

        Raises:
            TidemarkError: As `is_complete`.

        Example:
            >>> for one in marks.waiting_for("2026-11-23T13:00:00Z"):  # doctest: +SKIP
            ...     print(f"waiting for {one}")
            waiting for us, which has noted 2026-11-23T12:00:00.000Z
        """
        millis = millis_from(time)
        now = self._clock()
        found = self._histories(now)
        watermark = self._aggregated(found, now)
        if watermark is not None and watermark.lower_millis >= millis:
            return ()
        left_out = stalled(found, self.idle_after_millis, now) | self._aggregation.left_out
        return awaited(found, self.expected, left_out, millis)

    def window(self, read: Position, *, is_at_end: bool = False) -> TimeWindow:
        """The time window of a position. It depends on the position and the log alone.

        Args:
            read: What has been read.
            is_at_end: Whether nothing is left to read. If not, a writer with marks ahead is never
                left out for its silence, and a writer of files whose first marks were purged holds.

        Returns:
            The window; both bounds are None if no writer has noted a time.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH` if a writer has another kind of position;
                `INVALID_OPTION` for a Kafka partition that is not a number; `MARK_LOG_NOT_READ`.
        """
        require_partition_numbers(read)
        now = self._clock()
        return window_at(
            self._histories(now), read, self.expected, self.idle_after_millis, now, is_at_end
        )

    def cut_at(self, time: Time) -> Cut:
        """A position that has every row up to a time before it: the first such one of each writer.

        Args:
            time: The time.

        Raises:
            TidemarkError: `NO_CUT` if a writer has not come so far, or no writer has noted a time;
                `MARK_POSITION_MISMATCH`; `INVALID_OPTION` for what is not a time; `MARK_LOG_NOT_READ`.
        """
        millis = millis_from(time)
        found, ends = self._ends_at(millis)
        with self._reading():
            purged = self._store.purged(self.expected if self.only_expected else None)
        return joined_cut(found, ends, millis, purged)

    def purge(self, before: Time) -> int:
        """Removes files whose marks were all written before a time: what dead writers leave.

        A writer that is running, but has noted nothing since, is fenced off. Of a writer of files that
        leaves nothing else, a small file stays. From it, `read_between` learns what a cut had of it.

        Args:
            before: The time.

        Returns:
            How many files were removed.

        Raises:
            TidemarkError: `INVALID_OPTION` for what is not a time, or for a topic; `MARK_LOG_NOT_READ` if
                the log cannot be read or changed.
        """
        millis = millis_up_to(before)
        with self._reading():
            return self._store.purge(millis)

    def __repr__(self) -> str:
        shown = [repr(self.location)]
        if self.expected:
            shown.append(f"expected={sorted(self.expected)}")
        if self.only_expected:
            shown.append("only_expected=True")
        if self.idle_after_millis is not None:
            shown.append(f"idle_after='{timedelta(milliseconds=self.idle_after_millis)}'")
        # The options may have passwords.
        return f"Marks({', '.join(shown)})"

    def _repr_html_(self) -> str | None:
        """The writers as a table. A notebook shows the text instead if the log cannot be read."""
        now = self._clock()
        try:
            found = self._histories(now)
            watermark = self._aggregated(found, now)
        except TidemarkError:
            return None
        left_out = stalled(found, self.idle_after_millis, now) | self._aggregation.left_out
        millis = None if watermark is None else watermark.lower_millis
        waiting = awaited(found, self.expected, left_out, MOST if millis is None else millis + 1)
        return writers_table(self.location, found, left_out, waiting, millis)

    def _aggregated(self, found: Mapping[str, History], now: int) -> StreamWatermark | None:
        if self.expected <= found.keys():
            self._aggregation.update(found, now)
        return self._aggregation.watermark

    def _others(self, writer: str) -> Iterator[tuple[str, Position]]:
        """The writers that this one's readers will compare it with, each with a position."""
        for name, position in self._store.positions():
            if name != writer and (not self.only_expected or name in self.expected):
                yield name, position

    def _begin(self, writer: str) -> WriterLife:
        try:
            return self._store.begin(writer, max(self._clock(), 0))
        except OSError as problem:
            raise not_written(writer, self.location, problem) from problem

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise not_read(self.location, problem) from problem

    def _between(
        self, start_micros: int | None, end_micros: int, topics: Collection[str]
    ) -> tuple[Range, list[str]]:
        """The range with every row between two times, and who makes it begin at the beginning."""
        millis = -(-end_micros // 1000)
        found, ends = self._ends_at(millis)
        return between_times(found, ends, joined_cut(found, ends, millis), start_micros, topics)

    def _ends_at(self, millis: int) -> tuple[dict[str, History], dict[str, int]]:
        """The writers, and where each had noted a time."""
        now = self._clock()
        found = self._histories(now)
        return found, ends_at(
            found, self.expected, stalled(found, self.idle_after_millis, now), millis
        )

    def _histories(self, now: int) -> dict[str, History]:
        only = self.expected if self.only_expected else None
        latest = None if self.max_ahead_millis is None else now + self.max_ahead_millis
        with self._reading(), log.many_objects():
            contents = self._store.read(only)
            if self._clock is not wall_clock:
                contents = replace(contents, corrections=(), has_host_clocks=False)
            found = histories(contents, latest)
        if self.idle_after_millis is not None and any(
            history.last_active() is None for history in found.values()
        ):
            self._warn_once(
                "idle_after does not leave out a writer of the mark log %s: its topic has the clocks of "
                "hosts. Set message.timestamp.type=LogAppendTime for the topic",
                self.location,
            )
        if len(found) > MANY_WRITERS:
            self._warn_once("The mark log %s has %d writers", self.location, len(found))
        if not found and not self._store.exists():
            # The path of a log that no writer has made yet may be mistyped, and would stay empty forever.
            self._warn_once(
                "There is no mark log at %s: either no writer has begun yet, or the path is wrong",
                os.path.abspath(self.location),
            )
        return found

    def _warn_once(self, message: str, *values: object) -> None:
        if message not in self._warned:
            self._warned.add(message)
            _log.warning(message, *values)
