"""Writers of Kafka rows that note their times: they wrap `produce`, and know each row's offset.

The producer's reports call the functions of users, and they run in whatever thread polls the
producer. So no lock of a writer is held while it polls or flushes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, TypeAlias

from tidemark._errors import TidemarkError
from tidemark._marks.checks import called_inside, closed, unknown_position
from tidemark._marks.kafka_rows import Rows
from tidemark._marks.times import Time
from tidemark._marks.writer import MarkWriter

OnDelivery: TypeAlias = Callable[[Any, Any], object]
"""A user's function for one row. It gets the error or None, and the message."""

FLUSH_SECONDS = 0.1
"""How long one flush may take: between two of them a writer can be closed or interrupted."""

REPORT_SECONDS = 5.0
"""How long a report may take that another thread has taken from the producer."""


class Producer(Protocol):
    """What a writer needs of a producer: `confluent_kafka.Producer` has it, and so do its subclasses."""

    def produce(self, *args: Any, **kwargs: Any) -> Any:
        """Hands a row over. Raises if it was not taken."""

    def poll(self, timeout: float) -> int:
        """Serves reports."""

    def flush(self, timeout: float) -> int:
        """Sends what is buffered, and serves reports; returns how many rows are left."""


class KafkaMarkWriter:
    """A writer of Kafka rows that notes its times. `Marks.kafka_writer` makes one; use `with`.

    Any thread may call it. Rows that are sent without it, by the producer itself, are not in its
    positions: send all rows through the writer.

    Attributes:
        name: The writer's name.
        epoch: The number of this life of the writer.
    """

    def __init__(
        self, marks: MarkWriter, rows: Rows, producer: Producer, topics: frozenset[str]
    ) -> None:
        self.name = marks.name
        self.epoch = marks.epoch
        self._marks = marks
        self._rows = rows
        self._producer = producer
        self._topics = topics
        self._is_closed = False
        # In each thread, how many functions of users it is in.
        self._reporting = threading.local()

    def produce(
        self,
        value: Any = None,
        key: Any = None,
        *,
        topic: str | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Any = None,
        on_delivery: OnDelivery | None = None,
    ) -> None:
        """Hands a row to the producer, which sends it later. Reports are served before.

        Args:
            value: The row's value.
            key: The row's key.
            topic: The topic, if the writer has several.
            partition: The partition. By default the producer's partitioner chooses it.
            timestamp: The record's timestamp in ms. By default it is the present.
            headers: The record's headers.
            on_delivery: Called with the error or None, and with the message, when the row has
                arrived or failed. In it, only `produce`, `alive` and `accept_failures` are allowed.
                The producer's own `on_delivery` is not called.

        Raises:
            TidemarkError: `MARK_WRITER_CLOSED`; `INVALID_OPTION` for another topic than the writer's.
            Exception: What the producer raises, such as `BufferError` if its queue is full: poll it,
                and send the row again. Also what an earlier row's `on_delivery` raises; in both cases,
                the row was not sent.
        """
        fields = {
            "value": value,
            "key": key,
            "partition": partition,
            "timestamp": timestamp,
            "headers": headers,
        }
        self._produce(self._topic(topic), fields, on_delivery)

    def note_time(self, time: Time, *, max_time: Time | None = None) -> None:
        """States that every row with an event time up to `time` has been handed over.

        It flushes, waits until the brokers have acknowledged all rows that were handed over before,
        and notes the position behind them.

        Args:
            time: The time.
            max_time: The largest event time of any row that was handed over, if it is known.

        Raises:
            TidemarkError: `MARK_ROWS_FAILED` if rows were not delivered, and nothing is written,
                unless `accept_failures` was called before. `MARK_POSITION_UNKNOWN` if the producer does not say where
                rows are. `MARK_CALL_INSIDE` in an `on_delivery`. Else as `MarkWriter.note_time`.
        """
        self._settle()
        self._marks.note_time(time, max_time=max_time)

    def accept_failures(self) -> int:
        """States that the rows whose delivery has failed are accounted for; then marks go on.

        Call it before you send these rows again, or if readers can do without them, and note a time
        after that. A call that is waiting meanwhile still raises. A row that has failed may be in the
        topic nevertheless, where readers may find it late.

        Returns:
            How many rows have failed since the call before.
        """
        return self._rows.accept_failures()

    def alive(self) -> None:
        """States that the writer is there and may still send rows: it is not to be left out.

        Raises:
            TidemarkError: As `MarkWriter.alive`.
        """
        self._marks.alive()

    def idle(self) -> None:
        """Flushes, and asks readers to leave the writer out until its next mark.

        Raises:
            TidemarkError: As `note_time`.
        """
        self._settle()
        self._marks.idle()

    def end(self) -> None:
        """Flushes, states that the writer has no more rows, and closes it. The producer stays open.

        Raises:
            TidemarkError: As `note_time`.
        """
        if not self._is_closed:
            self._settle()
            self._marks.end()
            self._is_closed = True

    def close(self) -> None:
        """Closes the writer without an end: readers wait for its next life."""
        self._is_closed = True
        self._marks.close()

    def __enter__(self) -> KafkaMarkWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the writer, or only closes it after an exception: it may have rows to repeat."""
        if kind is None:
            self.end()
        else:
            self.close()

    def _topic(self, topic: str | None) -> str:
        if topic is None and len(self._topics) == 1:
            (topic,) = self._topics
        if topic is not None and topic in self._topics:
            return topic
        allowed = f"one of {', '.join(sorted(self._topics))}"
        raise TidemarkError(
            "INVALID_OPTION",
            f"topic is {topic!r}, but it must be {allowed}",
            "naming all topics of the writer when it is opened, and one of them for each row",
            option="topic",
            value=repr(topic),
            allowed=allowed,
        )

    def _produce(self, topic: str, fields: dict[str, Any], on_delivery: OnDelivery | None) -> None:
        self._serve()
        self._require_open()
        self._hand_over(topic, fields, on_delivery)

    def _serve(self) -> None:
        """Serves reports, as a producer needs now and then. Not inside a report: that aborts the process."""
        if not self._is_reporting():
            self._producer.poll(0)

    def _hand_over(
        self, topic: str, fields: dict[str, Any], on_delivery: OnDelivery | None
    ) -> None:
        number = self._rows.add()

        def reported(error: Any, message: Any) -> None:
            self._report(number, error, message)
            if on_delivery is not None:
                self._reporting.depth = getattr(self._reporting, "depth", 0) + 1
                try:
                    on_delivery(error, message)
                finally:
                    self._reporting.depth -= 1

        given = {name: value for name, value in fields.items() if value is not None}
        try:
            self._producer.produce(topic, **given, on_delivery=reported)
        except BaseException:
            self._rows.take_back(number)
            raise
        self._rows.taken(number)

    def _report(self, number: int, error: Any, message: Any) -> None:
        if error is not None:
            self._rows.failed(number, str(error))
            return
        offset = message.offset()
        known = offset if offset is not None and offset >= 0 else None
        self._rows.arrived(number, message.topic(), message.partition(), known)

    def _settle(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Waits until all rows that were handed over before have arrived.

        Raises:
            TidemarkError: `MARK_ROWS_FAILED`, `MARK_POSITION_UNKNOWN`, `MARK_CALL_INSIDE`.
        """
        if self._is_reporting():
            raise called_inside(self.name, "an on_delivery function")
        self._require_open()
        accepted, before = self._rows.accepted(), self._rows.handed_over()
        quiet = 0.0
        while not (self._rows.are_reported(before) or self._is_closed or is_stopped()):
            left = self._producer.flush(FLUSH_SECONDS)
            if left or not self._rows.are_taken(before):
                quiet = 0
            if left or self._rows.are_reported(before, FLUSH_SECONDS):
                continue
            # Nothing is left, but another thread may be about to report.
            quiet += FLUSH_SECONDS
            if quiet >= REPORT_SECONDS:
                reason = "the producer does not report all deliveries"
                raise unknown_position(self.name, ", ".join(sorted(self._topics)), reason)
        self._require_open()
        self._require_arrived(accepted)

    def _require_arrived(self, accepted: int) -> None:
        # Not what was accepted meanwhile: these rows may be sent again just now.
        failures = self._rows.failures(accepted)
        if failures is not None:
            raise TidemarkError(
                "MARK_ROWS_FAILED",
                f"{failures.count} rows of writer '{self.name}' were not delivered, the first because of "
                f"{failures.first}",
                "calling accept_failures(), sending these rows again, and noting a time after that",
                writer=self.name,
                count=failures.count,
                reason=failures.first,
            )
        lost = self._rows.lost_offset()
        if lost is not None:
            reason = "the broker does not say at which offset rows are, as with acks=0"
            raise unknown_position(self.name, f"{lost[0]}-{lost[1]}", reason)

    def _require_open(self) -> None:
        if self._is_closed:
            raise closed(self.name)

    def _is_reporting(self) -> bool:
        return getattr(self._reporting, "depth", 0) > 0
