"""A mark in the transaction of the rows that it speaks of: readers see both, or neither."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from tidemark_marks._kafka.topic_life import TopicLife
from tidemark_marks._kafka.topic_refusal import is_fencing, is_too_long, not_taken
from tidemark_marks._kafka.topic_text import encode_value
from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.text import UnusableError
from tidemark_marks._writing.errors import fenced, not_written, too_long
from tidemark_marks.errors import TidemarkError, invalid_option

_SECONDS = 60.0
_POLL_SECONDS = 0.1


class Transaction:
    """Writes marks with the producer of the rows.

    Args:
        producer: The producer, which has a transactional id.
        life: The writer's life.
    """

    def __init__(self, producer: Any, life: TopicLife) -> None:
        self._producer = producer
        self._life = life

    def commit(self, mark: Mark) -> None:
        """Writes a mark, and commits the transaction.

        Raises:
            TidemarkError: `MARK_NOT_WRITTEN`, `MARK_TOO_LONG`, `MARK_WRITER_FENCED`; the transaction
                is open then.
            confluent_kafka.KafkaException: What the producer raises.
        """
        try:
            self._write(mark)
            # A later life that begins after this look reads the mark, and waits for the commit.
            self._life.look()
        except UnusableError as problem:
            raise too_long(mark.writer) from problem
        except OSError as problem:
            raise not_written(mark.writer, self._life.location, problem) from problem
        if self._life.is_fenced():
            raise fenced(mark.writer, mark.epoch)
        self._producer.commit_transaction()

    def abort(self) -> None:
        """Aborts the transaction.

        Raises:
            confluent_kafka.KafkaException: What the producer raises.
        """
        self._producer.abort_transaction()

    def _write(self, mark: Mark) -> None:
        reports: list[Any] = []
        fields = {
            "value": encode_value(mark),
            "key": self._life.key,
            "on_delivery": lambda error, _: reports.append(error),
        }
        kafka = import_module("confluent_kafka")
        produce = self._producer.produce
        if isinstance(self._producer, kafka.Producer):
            # A subclass would serialize the value as if it were a row.
            produce = partial(kafka.Producer.produce, self._producer)
        until = time.monotonic() + _SECONDS
        try:
            self._hand_over(partial(produce, self._life.topic, **fields), until)
        except kafka.KafkaException as problem:
            # The producer itself may have a limit below that of the brokers.
            if problem.args and is_too_long(problem.args[0]):
                raise not_taken(self._life.topic, problem.args[0]) from problem
            raise
        while not reports and time.monotonic() < until:
            self._producer.flush(1.0)
        if not reports:
            raise OSError("the producer does not report the mark")
        if is_fencing(reports[0]):
            raise fenced(mark.writer, mark.epoch)
        if reports[0] is not None:
            raise not_taken(self._life.topic, reports[0])

    def _hand_over(self, produce: Callable[[], object], until: float) -> None:
        """Waits for room in the producer's queue, which others may fill as well."""
        while True:
            try:
                produce()
            except BufferError as problem:
                if time.monotonic() >= until:
                    raise OSError(f"the producer's queue is full: {problem}") from problem
                self._producer.poll(_POLL_SECONDS)
            else:
                return


@contextmanager
def fenced_by_kafka(writer: str, epoch: int) -> Iterator[None]:
    """Names what has happened if another producer has taken the transactional id.

    confluent-kafka raises its fatal errors where it calls back, so a callback may end in a
    `SystemError` that they have caused.

    Raises:
        TidemarkError: `MARK_WRITER_FENCED` in place of that error; other errors as they are.
    """
    try:
        yield
    except Exception as problem:
        cause = problem.__cause__ if isinstance(problem, SystemError) else problem
        error: Any = cause.args[0] if cause is not None and cause.args else None
        if is_fencing(error):
            raise fenced(writer, epoch) from problem
        raise


def no_transactions(location: str, instead: str) -> TidemarkError:
    """The error for a mark log that is not in Kafka.

    Args:
        location: The log's location.
        instead: What to do without such a log.
    """
    return invalid_option(
        "location",
        location,
        "kafka:<topic>, or kafka:<topic>/<stream>, because a transaction of Kafka includes topics only",
        f"using a mark log such as 'kafka:tidemark-marks/orders', or by {instead}",
    )
