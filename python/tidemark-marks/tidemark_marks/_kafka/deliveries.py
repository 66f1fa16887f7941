"""Rows on their way through a producer: handing them over, and waiting for its reports.

The producer's reports call the functions of users, and they run in whatever thread polls the
producer. So no lock of a writer is held while it polls or flushes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from tidemark_marks._kafka.rows import Rows
from tidemark_marks._writing.errors import called_inside, unknown_position
from tidemark_marks.errors import TidemarkError

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


class Deliveries:
    """The rows of one writer that a producer delivers.

    Args:
        writer: The writer's name, for errors.
        producer: The producer.
        rows: Counts the rows.
        topics: The writer's topics, for errors.
    """

    def __init__(self, writer: str, producer: Producer, rows: Rows, topics: frozenset[str]) -> None:
        self._writer = writer
        self._producer = producer
        self._rows = rows
        self._topics = topics
        # In each thread, how many functions of users it is in.
        self._reporting = threading.local()

    def serve(self) -> None:
        """Serves reports, as a producer needs now and then. Not inside a report: that aborts the process."""
        if not self._is_reporting():
            self._producer.poll(0)

    def hand_over(
        self,
        topic: str,
        fields: dict[str, Any],
        on_delivery: OnDelivery | None,
        report: Callable[[int, Any, Any], None],
    ) -> None:
        """Hands a row to the producer.

        Args:
            topic: Its topic.
            fields: What else the producer gets; None counts as left out.
            on_delivery: The user's function, called last.
            report: Called with the row's number, the error or None, and the message.

        Raises:
            Exception: What the producer raises.
        """
        number = self._rows.add()

        def reported(error: Any, message: Any) -> None:
            report(number, error, message)
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

    def report(self, number: int, error: Any, message: Any) -> None:
        """Counts a row that has arrived or failed."""
        if error is not None:
            self._rows.failed(number, str(error))
            return
        offset = message.offset()
        known = offset if offset is not None and offset >= 0 else None
        self._rows.arrived(number, message.topic(), message.partition(), known)

    def require_outside(self) -> None:
        """Refuses a call that would wait for its own thread.

        Raises:
            TidemarkError: `MARK_CALL_INSIDE` inside a user's `on_delivery`.
        """
        if self._is_reporting():
            raise called_inside(self._writer, "an on_delivery function")

    def await_reports(self, is_over: Callable[[], bool]) -> None:
        """Waits until all rows that were handed over before have arrived or failed.

        Args:
            is_over: Whether to stop waiting.

        Raises:
            TidemarkError: `MARK_POSITION_UNKNOWN` if the producer does not report them.
        """
        before = self._rows.handed_over()
        quiet = 0.0
        while not (self._rows.are_reported(before) or is_over()):
            left = self._producer.flush(FLUSH_SECONDS)
            if left or not self._rows.are_taken(before):
                quiet = 0
            if left or self._rows.are_reported(before, FLUSH_SECONDS):
                continue
            # Nothing is left, but another thread may be about to report.
            quiet += FLUSH_SECONDS
            if quiet >= REPORT_SECONDS:
                reason = "the producer does not report all deliveries"
                raise unknown_position(self._writer, ", ".join(sorted(self._topics)), reason)

    def require_arrived(self, accepted: int) -> None:
        """Refuses to go on if rows have failed, or are at unknown offsets.

        Args:
            accepted: How many failures were accepted before. Not what was accepted meanwhile: these
                rows may be sent again just now.

        Raises:
            TidemarkError: `MARK_ROWS_FAILED`, `MARK_POSITION_UNKNOWN`.
        """
        failures = self._rows.failures(accepted)
        if failures is not None:
            raise TidemarkError(
                "MARK_ROWS_FAILED",
                f"{failures.count} rows of writer '{self._writer}' were not delivered, the first because of "
                f"{failures.first}",
                "calling accept_failures(), sending these rows again, and noting a time after that",
                writer=self._writer,
                count=failures.count,
                reason=failures.first,
            )
        lost = self._rows.lost_offset()
        if lost is not None:
            reason = "the broker does not say at which offset rows are, as with acks=0"
            raise unknown_position(self._writer, f"{lost[0]}-{lost[1]}", reason)

    def _is_reporting(self) -> bool:
        return getattr(self._reporting, "depth", 0) > 0
