"""Rows of Kafka and the mark behind them in one transaction, without a broker."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.raising import raising
from support.topics import FakeTopic, TransactionalProducer

from tidemark import TidemarkError
from tidemark.marks import KafkaPosition, Marks
from tidemark_marks._kafka.writer import KafkaMarkWriter


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> FakeTopic:
    fake = FakeTopic()
    monkeypatch.setattr("tidemark_marks._locations.KafkaTopic", lambda name, options: fake)
    return fake


def log(**options: Any) -> Marks:
    return Marks("kafka:marks/orders", options={"bootstrap.servers": "nowhere:1"}, **options)


def opened(topic: FakeTopic, **options: Any) -> tuple[KafkaMarkWriter, TransactionalProducer]:
    producer = TransactionalProducer(marks=topic)
    return log().kafka_writer(producer, "orders", "w", admin=None, **options), producer


def require_refused(writer: Any, code: str, time: int = 7) -> None:
    """The commit fails with this code, and nothing of the transaction is noted."""
    with raising(code):
        writer.commit_transaction(time)
    writer.abort_transaction()
    assert log().watermark() is None


def test_a_mark_is_seen_when_its_transaction_is_committed(topic: FakeTopic) -> None:
    writer, producer = opened(topic)
    producer.begin_transaction()
    writer.produce(b"x", 0)
    seen: list[bool] = []
    commit = producer.commit_transaction

    def watched() -> None:
        seen.append(log().is_complete(7))
        commit()

    producer.commit_transaction = watched  # type: ignore[method-assign]
    writer.commit_transaction(7)
    assert seen == [False]
    assert log().is_complete(7)
    assert log().cut_at(7).position == KafkaPosition({"orders": {0: 1}})


def test_a_transaction_that_is_aborted_takes_its_mark_back(topic: FakeTopic) -> None:
    writer, producer = opened(topic)
    producer.begin_transaction()
    writer.produce(b"x", 0)
    producer.refuses = True
    with pytest.raises(RuntimeError):
        writer.commit_transaction(9)
    writer.abort_transaction()
    assert log().watermark() is None
    producer.refuses = False
    producer.begin_transaction()
    writer.produce(b"x", 0)
    # An earlier time than that of the aborted mark, which was never said.
    writer.commit_transaction(7)
    assert log().is_complete(7) and not log().is_complete(8)
    numbers = [mark.number for mark in log().read().marks]
    assert numbers == sorted(set(numbers))


def test_rows_that_an_aborted_transaction_has_not_sent_are_accounted_for(topic: FakeTopic) -> None:
    writer, producer = opened(topic)
    producer.begin_transaction()
    producer.is_down = True
    writer.produce(b"x", 0)
    writer.abort_transaction()
    assert producer.aborted == [b"x"]
    producer.is_down = False
    producer.begin_transaction()
    writer.produce(b"x", 0)
    writer.commit_transaction(7)
    assert log().is_complete(7)


def test_a_row_that_fails_in_a_transaction_stops_its_commit(topic: FakeTopic) -> None:
    writer, producer = opened(topic)
    producer.fails = lambda value: value == b"bad"
    producer.begin_transaction()
    writer.produce(b"bad", 0)
    require_refused(writer, "MARK_ROWS_FAILED")


def test_a_time_that_no_timestamp_can_hold_is_not_committed(topic: FakeTopic) -> None:
    writer, producer = opened(topic)
    producer.begin_transaction()
    writer.produce(b"x", 0)
    require_refused(writer, "INVALID_OPTION", 2**62)
    numbers = log(max_ahead=None)
    other_writer = numbers.kafka_writer(producer, "orders", "w", admin=None)
    producer.begin_transaction()
    other_writer.commit_transaction(2**62)
    assert numbers.is_complete(2**62)


def test_a_fenced_writer_does_not_commit(topic: FakeTopic) -> None:
    writer, producer = opened(topic)
    producer.begin_transaction()
    writer.produce(b"x", 0)
    log().writer("w").close()
    require_refused(writer, "MARK_WRITER_FENCED")


@pytest.mark.parametrize("by_the_producer", [True, False])
def test_a_mark_that_is_too_large_for_the_topic_is_named(
    topic: FakeTopic, by_the_producer: bool
) -> None:
    kafka: Any = pytest.importorskip("confluent_kafka")
    too_large = kafka.KafkaError(kafka.KafkaError.MSG_SIZE_TOO_LARGE)

    class Limited(TransactionalProducer):
        """Refuses records above `message.max.bytes`: the producer in the call, brokers by a report."""

        def produce(self, topic: str, **fields: Any) -> None:
            if topic != self.marks.name:
                super().produce(topic, **fields)
            elif by_the_producer:
                raise kafka.KafkaException(too_large)
            else:
                fields["on_delivery"](too_large, None)

    producer = Limited(marks=topic)
    writer = log().kafka_writer(producer, "orders", "w", admin=None)
    producer.begin_transaction()
    writer.produce(b"x", 0)
    require_refused(writer, "MARK_TOO_LONG")


def kafka_error(name: str) -> Any:
    kafka: Any = pytest.importorskip("confluent_kafka")
    return kafka.KafkaError(getattr(kafka.KafkaError, name))


@pytest.mark.parametrize("name", ["_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"])
@pytest.mark.parametrize("of_the_mark", [True, False])
def test_a_report_that_the_producer_is_fenced_off_is_named(
    topic: FakeTopic, name: str, of_the_mark: bool
) -> None:
    error = kafka_error(name)

    class Fenced(TransactionalProducer):
        """Another producer has taken its transactional id."""

        def _deliver(self, topic: str, fields: dict[str, Any]) -> None:
            if of_the_mark == (topic == self.marks.name):
                fields["on_delivery"](error, None)
            else:
                super()._deliver(topic, fields)

    writer = log().kafka_writer(Fenced(marks=topic), "orders", "w", admin=None)
    writer.produce(b"x", 0)
    with pytest.raises(TidemarkError) as raised:
        writer.commit_transaction(7)
    assert raised.value.code == "MARK_WRITER_FENCED"
    writer.abort_transaction()
    assert log().watermark() is None


class Full(TransactionalProducer):
    """Its queue is full when the mark comes, until it has been polled so many times."""

    polls = 3

    def produce(self, topic: str, **fields: Any) -> None:
        if topic == self.marks.name and self.polls > 0:
            raise BufferError("Local: Queue full")
        super().produce(topic, **fields)

    def poll(self, timeout: float) -> int:
        self.polls -= timeout > 0
        return super().poll(timeout)


def test_a_mark_waits_for_room_in_the_queue_of_the_producer(topic: FakeTopic) -> None:
    writer = log().kafka_writer(Full(marks=topic), "orders", "w", admin=None)
    writer.produce(b"x", 0)
    writer.commit_transaction(7)
    assert log().is_complete(7)


def test_a_queue_that_stays_full_is_named(
    topic: FakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemark_marks._kafka.transaction._SECONDS", 0.0)
    writer = log().kafka_writer(Full(marks=topic), "orders", "w", admin=None)
    writer.produce(b"x", 0)
    with raising("MARK_NOT_WRITTEN", writer="w"):
        writer.commit_transaction(7)
    writer.abort_transaction()
    assert log().watermark() is None


def test_times_may_not_go_back_from_one_transaction_to_the_next(topic: FakeTopic) -> None:
    writer, producer = opened(topic)
    producer.begin_transaction()
    writer.commit_transaction(7)
    producer.begin_transaction()
    with pytest.raises(TidemarkError) as error:
        writer.commit_transaction(6)
    assert error.value.code == "MARK_GOES_BACK"


def test_transactions_need_a_mark_log_in_kafka(tmp_path: Path) -> None:
    writer = Marks(tmp_path).kafka_writer(TransactionalProducer(), "orders", "w", admin=None)
    for call in (lambda: writer.commit_transaction(7), writer.abort_transaction):
        with raising("INVALID_OPTION", option="location", value=tmp_path):
            call()


def test_a_writer_that_notes_its_clock_is_in_no_transaction(topic: FakeTopic) -> None:
    writer, _ = opened(topic, automatic=timedelta(hours=1))
    for call in (lambda: writer.commit_transaction(7), writer.abort_transaction):
        with raising("MARK_AUTOMATIC", writer="w"):
            call()
    writer.close()
