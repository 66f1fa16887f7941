"""A writer of Kafka rows whose event time is when they are sent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tidemark_marks._kafka.deliveries import OnDelivery, Producer
from tidemark_marks._kafka.rows import Rows
from tidemark_marks._kafka.writer import KafkaMarkWriter
from tidemark_marks._protocol.times import Time
from tidemark_marks._writing.errors import automatic
from tidemark_marks._writing.repeating import Repeating
from tidemark_marks._writing.stamps import Stamps
from tidemark_marks._writing.writer import MarkWriter
from tidemark_marks.errors import TidemarkError

_LOG_APPEND_TIME = 2


class AutomaticKafkaMarkWriter(KafkaMarkWriter):
    """A writer of Kafka rows that stamps them with its clock, and notes the time each period.

    The event time of a row is its record's timestamp: Spark's column `timestamp`. Pravega's
    `automaticallyNoteTime` notes a time that rows on their way can be below. Here none can.
    `Marks.kafka_writer(automatic=...)` makes one.
    """

    def __init__(
        self,
        marks: MarkWriter,
        rows: Rows,
        producer: Producer,
        topics: frozenset[str],
        stamps: Stamps,
        period_millis: int,
    ) -> None:
        super().__init__(marks, rows, producer, topics)
        self._stamps = stamps
        self._restamped: str | None = None
        # Keeps the order of the times, and nothing else: no producer is called under it.
        self._noting = threading.Lock()
        self._noted: int | None = None
        self._repeating = Repeating(self.name, period_millis, self._note_again)

    def note_now(self) -> None:
        """Flushes, and notes the time a millisecond before the flush began.

        Raises:
            TidemarkError: As `KafkaMarkWriter.note_time`; `MARK_TIME_REPLACED` if a topic replaces
                the timestamps of rows by its broker's clock.
        """
        self._note(lambda: False)

    def note_time(self, time: Time, *, max_time: Time | None = None) -> None:
        """Refused: the writer notes its times by itself.

        Raises:
            TidemarkError: `MARK_AUTOMATIC`.
        """
        raise automatic(self.name, "no time can be given", "calling produce(...) for each row")

    def commit_transaction(self, time: Time, *, max_time: Time | None = None) -> None:
        """Refused: the writer notes its times outside of transactions.

        Raises:
            TidemarkError: `MARK_AUTOMATIC`.
        """
        raise self._outside_transactions()

    def abort_transaction(self) -> None:
        """Refused, as `commit_transaction`.

        Raises:
            TidemarkError: `MARK_AUTOMATIC`.
        """
        raise self._outside_transactions()

    def alive(self) -> None:
        """States that the writer is running and may still send rows: it is not to be left out.

        Raises:
            TidemarkError: As `MarkWriter.alive`.
        """
        self._stamps.require_outside()
        super().alive()

    def end(self) -> None:
        """Stops noting, flushes, states that the writer has no more rows, and closes it.

        Raises:
            TidemarkError: As `KafkaMarkWriter.note_time`.
        """
        self._owner.require_here()
        self._stop()
        super().end()

    def close(self) -> None:
        """Stops noting, without an end. Does nothing in a fork."""
        if self._owner.is_here():
            self._stop()
            super().close()

    def __enter__(self) -> AutomaticKafkaMarkWriter:
        return self

    def _produce(self, topic: str, fields: dict[str, Any], on_delivery: OnDelivery | None) -> None:
        if fields["timestamp"] is not None:
            raise automatic(self.name, "no timestamp can be given", "leaving it out")
        self._owner.require_here()
        self._stamps.require_outside()
        self._deliveries.serve()
        with self._stamps.stamp() as millis:
            self._require_open()
            self._repeating.require_unfenced()
            self._hand_over(topic, {**fields, "timestamp": millis}, on_delivery)

    def _report(self, number: int, error: Any, message: Any) -> None:
        if error is None and message.timestamp()[0] == _LOG_APPEND_TIME:
            self._restamped = message.topic()
        super()._report(number, error, message)

    def _settle(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        self._stamps.require_outside()
        super()._settle(is_stopped)

    def _note_again(self) -> None:
        self._note(self._repeating.is_stopped)

    def _note(self, is_stopped: Callable[[], bool]) -> None:
        self._owner.require_here()
        # The time first: all rows with this time or a lower one are waited for.
        time = self._stamps.reached()
        self._settle(is_stopped)
        if self._restamped is not None:
            raise TidemarkError(
                "MARK_TIME_REPLACED",
                f"Topic '{self._restamped}' replaces the timestamps of rows by its broker's clock, so writer "
                f"'{self.name}' cannot note its own",
                "setting message.timestamp.type=CreateTime for the topic",
                writer=self.name,
                topic=self._restamped,
            )
        with self._noting:
            # A call that began later may have come first. It has said more.
            if is_stopped() or (self._noted is not None and time < self._noted):
                return
            self._marks.note_time(time)
            self._noted = time

    def _outside_transactions(self) -> TidemarkError:
        return automatic(
            self.name, "it does so outside of transactions", "calling produce(...) alone"
        )

    def _stop(self) -> None:
        self._stamps.require_outside()
        self._deliveries.require_outside()
        self._repeating.stop()
