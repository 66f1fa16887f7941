"""Writers of Kafka rows that note their times: they wrap `produce`, and know each row's offset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidemark_marks._kafka.deliveries import Deliveries, OnDelivery, Producer
from tidemark_marks._kafka.rows import Rows
from tidemark_marks._kafka.topic_refusal import is_fencing
from tidemark_marks._kafka.transaction import Transaction, fenced_by_kafka, no_transactions
from tidemark_marks._protocol.times import Time
from tidemark_marks._writing.closing import ClosedByWith
from tidemark_marks._writing.errors import closed, fenced
from tidemark_marks._writing.owner import Owner
from tidemark_marks._writing.writer import MarkWriter
from tidemark_marks.errors import invalid_option


class KafkaMarkWriter(ClosedByWith):
    """A writer of Kafka rows that notes its times. `Marks.kafka_writer` makes one; use `with`.

    Any thread may call it, but no fork of the process. Rows that are sent without it, by the
    producer itself, are not in its positions: send all rows through the writer.

    Attributes:
        name: The writer's name.
        epoch: The number of this life of the writer.
    """

    def __init__(
        self,
        marks: MarkWriter,
        rows: Rows,
        producer: Producer,
        topics: frozenset[str],
        transaction: Transaction | None = None,
    ) -> None:
        self.name = marks.name
        self.epoch = marks.epoch
        self._owner = Owner(marks.name)
        self._marks = marks
        self._rows = rows
        self._deliveries = Deliveries(self.name, producer, rows, topics)
        self._topics = topics
        self._transaction = transaction
        self._is_closed = False
        self._is_fenced = False

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
            TidemarkError: `MARK_WRITER_CLOSED`; `MARK_WRITER_FORKED`; `INVALID_OPTION` for another topic
                than the writer's.
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

    def commit_transaction(self, time: Time, *, max_time: Time | None = None) -> None:
        """Notes a time in the producer's transaction, and commits it: rows and mark are seen together.

        The mark log must be in Kafka, on the producer's brokers, and the producer must have a
        `transactional.id`. Call its `init_transactions` before the writer is made, and its
        `begin_transaction` before the first row.

        It flushes, waits until the brokers have acknowledged all rows that were handed over before,
        writes the mark behind them, and commits. If it raises, call `abort_transaction`: then nothing
        was noted. After an error without an answer from the brokers, the transaction may have been
        committed. A new producer and a new writer of the name find out.

        Args:
            time: The time.
            max_time: As for `note_time`.

        Raises:
            TidemarkError: As `note_time`; `MARK_WRITER_FENCED` also if another producer has the
                transactional id; `MARK_NOT_WRITTEN` also if the producer's queue stays full for a
                minute; `INVALID_OPTION` for a mark log in a folder.
            confluent_kafka.KafkaException: What the producer's `commit_transaction` raises.
        """
        if self._transaction is None:
            instead = "committing first and noting a time then"
            raise no_transactions(self._marks.location, instead)
        with fenced_by_kafka(self.name, self.epoch):
            self._settle()
            self._marks.note_through(self._transaction.commit, time, max_time)

    def abort_transaction(self) -> None:
        """Aborts the producer's transaction. Its rows, and failures among them, are accounted for.

        Send the rows again in the next transaction. Nothing that was to be noted with them counts.

        Raises:
            TidemarkError: `INVALID_OPTION` for a mark log in a folder; `MARK_CALL_INSIDE`;
                `MARK_WRITER_CLOSED`; `MARK_WRITER_FORKED`; `MARK_POSITION_UNKNOWN` if rows are not
                reported.
            confluent_kafka.KafkaException: What the producer's `abort_transaction` raises.
        """
        if self._transaction is None:
            instead = "aborting with the producer itself, and calling accept_failures()"
            raise no_transactions(self._marks.location, instead)
        self._deliveries.require_outside()
        self._require_open()
        self._transaction.abort()
        self._deliveries.await_reports(lambda: self._is_closed)
        self._rows.accept_failures()

    def accept_failures(self) -> int:
        """States that the rows whose delivery has failed are accounted for; then marks go on.

        Call it before you send these rows again, or if readers can do without them, and note a time
        after that. A call that is waiting meanwhile still raises. A row that has failed may be in the
        topic nevertheless, where readers may find it late.

        Returns:
            How many rows have failed since the call before.

        Raises:
            TidemarkError: `MARK_WRITER_FORKED`.
        """
        self._owner.require_here()
        return self._rows.accept_failures()

    def alive(self) -> None:
        """States that the writer is running and may still send rows: it is not to be left out.

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
        """Flushes, states that the writer has no more rows, ever, and closes it. The producer stays open.

        As `MarkWriter.end`, it is not for a writer that goes on later.

        Raises:
            TidemarkError: As `note_time`.
        """
        if not self._is_closed:
            self._settle()
            self._marks.end()
            self._is_closed = True

    def close(self) -> None:
        """Closes the writer without an end: readers wait for its next life. Does nothing in a fork.

        It flushes nothing: rows that were handed over are the producer's.
        """
        if self._owner.is_here():
            self._is_closed = True
            self._marks.close()

    def _topic(self, topic: str | None) -> str:
        if topic is None and len(self._topics) == 1:
            (topic,) = self._topics
        if topic is not None and topic in self._topics:
            return topic
        raise invalid_option(
            "topic",
            topic,
            f"one of {', '.join(sorted(self._topics))}",
            "naming all topics of the writer when it is opened, and one of them for each row",
        )

    def _produce(self, topic: str, fields: dict[str, Any], on_delivery: OnDelivery | None) -> None:
        self._owner.require_here()
        self._deliveries.serve()
        self._require_open()
        self._hand_over(topic, fields, on_delivery)

    def _hand_over(
        self, topic: str, fields: dict[str, Any], on_delivery: OnDelivery | None
    ) -> None:
        self._deliveries.hand_over(topic, fields, on_delivery, self._report)

    def _report(self, number: int, error: Any, message: Any) -> None:
        if is_fencing(error):
            self._is_fenced = True
        self._deliveries.report(number, error, message)

    def _settle(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Waits until all rows that were handed over before have arrived.

        Raises:
            TidemarkError: `MARK_ROWS_FAILED`, `MARK_POSITION_UNKNOWN`, `MARK_CALL_INSIDE`;
                `MARK_WRITER_FENCED` if another producer has taken the transactional id.
        """
        self._deliveries.require_outside()
        self._require_open()
        accepted = self._rows.accepted()
        self._deliveries.await_reports(lambda: self._is_closed or is_stopped())
        self._require_open()
        if self._is_fenced:
            # No row of this producer will ever arrive again.
            raise fenced(self.name, self.epoch)
        self._deliveries.require_arrived(accepted)

    def _require_open(self) -> None:
        self._owner.require_here()
        if self._is_closed:
            raise closed(self.name)
