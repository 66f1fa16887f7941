"""A writer of Kafka rows that notes its times automatically, with a producer in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.marks import code_of, log_at, no_sync, noted
from support.producers import FakeProducer

from tidemark import TidemarkError
from tidemark.marks import Marks

pytestmark = pytest.mark.usefixtures(no_sync.__name__)

HOUR = timedelta(hours=1)


@pytest.fixture
def now() -> list[int]:
    return [1000]


@pytest.fixture
def automatic(tmp_path: Path, now: list[int]) -> Iterator[Callable[..., Any]]:
    opened: list[Any] = []

    def open_it(producer: FakeProducer, **options: Any) -> Any:
        log = Marks(tmp_path, clock=lambda: now[0], max_ahead=None)
        opened.append(
            log.kafka_writer(producer, "orders", "w", automatic=HOUR, admin=None, **options)
        )
        return opened[-1]

    yield open_it
    for writer in opened:
        writer.close()


def test_automatic_noting_stamps_each_row_above_all_times_noted(
    tmp_path: Path, now: list[int], automatic: Callable[..., Any]
) -> None:
    producer = FakeProducer(partitions=1)
    with automatic(producer) as writer:
        for step in (0, 5, -700, 1, 900):  # the clock runs back
            now[0] += step
            writer.produce("a")
            writer.note_now()
            writer.produce("b")
    marks = [mark for mark in noted(log_at(tmp_path)) if mark[0] == "note"]
    assert len(marks) == 5
    rows = producer.log["orders", 0]
    for _, time, position in marks:
        behind = position["orders"][0]
        assert all(row["timestamp"] > time for row in rows[behind:])
        # What was sent before the call is before the position.
        assert rows[behind - 1]["value"] == "a"


def test_automatic_noting_takes_the_time_before_it_waits(
    tmp_path: Path, now: list[int], automatic: Callable[..., Any]
) -> None:
    producer = FakeProducer()
    writer = automatic(producer)

    def produce_and_fail(*_: object) -> None:
        now[0] += 100
        writer.produce("b")
        producer.is_down = True
        now[0] += 100

    writer.produce("a", on_delivery=produce_and_fail)
    writer.note_now()
    assert noted(log_at(tmp_path))[-1] == ("note", 999, {"orders": {0: 1}})
    assert producer.queue[0][1]["timestamp"] == 1100


def test_automatic_noting_goes_on_above_the_times_of_the_life_before(
    tmp_path: Path, now: list[int], automatic: Callable[..., Any]
) -> None:
    with log_at(tmp_path).kafka_writer(FakeProducer(), "orders", "w", admin=None) as writer:
        writer.note_time(5000)
    producer = FakeProducer()
    with automatic(producer) as writer:
        writer.produce("a")
    assert producer.queue[0][1]["timestamp"] == 5001


def test_an_automatic_writer_takes_no_times_from_outside(automatic: Callable[..., Any]) -> None:
    writer = automatic(FakeProducer())
    for call in (lambda: writer.note_time(1), lambda: writer.produce("a", timestamp=1)):
        with pytest.raises(TidemarkError) as error:
            call()
        assert code_of(error) == "MARK_AUTOMATIC"


def test_timestamps_that_the_broker_replaces_are_not_noted(automatic: Callable[..., Any]) -> None:
    writer = automatic(FakeProducer(timestamp_type=2))
    writer.produce("a")
    with pytest.raises(TidemarkError) as error:
        writer.note_now()
    assert code_of(error) == "MARK_TIME_REPLACED"
    assert error.value.parameters["topic"] == "orders"


@pytest.mark.parametrize("call", ["produce", "note_now", "alive", "idle", "end", "close"])
def test_a_call_inside_the_producer_s_own_produce_is_refused(
    automatic: Callable[..., Any], call: str
) -> None:
    class Serializing(FakeProducer):
        """Serializers of users run inside `produce`."""

        def produce(self, topic: str, **fields: Any) -> None:
            getattr(writer, call)()
            super().produce(topic, **fields)

    writer = automatic(Serializing())
    with pytest.raises(TidemarkError) as error:
        writer.produce("a")
    assert code_of(error) == "MARK_CALL_INSIDE"


def test_automatic_noting_repeats_by_itself(tmp_path: Path) -> None:
    producer = FakeProducer()
    log = Marks(tmp_path)
    with log.kafka_writer(
        producer, "orders", "w", automatic=timedelta(milliseconds=1), admin=None
    ) as writer:
        writer.produce("a")
        while not any(mark[0] == "note" and mark[2] for mark in noted(log)):
            pass
        writer.end()
    assert noted(log)[-1] == ("end", None, {"orders": {0: 1}})


@pytest.mark.parametrize("explicit", [True, False])
def test_rows_of_many_threads_are_all_before_the_mark_that_follows_them(
    tmp_path: Path, explicit: bool
) -> None:
    class Racing(FakeProducer):
        """Several threads may serve at the same time, as with the real one."""

        guard = threading.RLock()

        def produce(self, topic: str, **fields: Any) -> None:
            with self.guard:
                super().produce(topic, **fields)

        def _serve(self) -> int:
            with self.guard:
                return super()._serve()

    producer = Racing(partitions=3)
    log = Marks(tmp_path)
    writer: Any = (
        log.kafka_writer(producer, "orders", "w", admin=None)
        if explicit
        else log.kafka_writer(
            producer, "orders", "w", automatic=timedelta(milliseconds=1), admin=None
        )
    )
    lock, time = threading.Lock(), [0]

    def send(thread: int) -> None:
        for number in range(200):
            if not explicit:
                writer.produce("a", key=number + thread)
                continue
            with lock:  # a row's time is taken with its place in the order, as the promise asks
                time[0] += 1
                writer.produce("a", key=number + thread, timestamp=time[0])
            if number % 50 == 0:
                with lock:
                    writer.note_time(time[0])

    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not explicit:
        writer.note_now()
    writer.end()
    marks = [mark for mark in noted(log) if mark[0] == "note"]
    assert len(marks) >= (16 if explicit else 1)
    assert sum(map(len, producer.log.values())) == 800
    for _, noted_millis, position in marks:
        for (topic, partition), rows in producer.log.items():
            behind = position.get(topic, {}).get(partition, 0)
            assert all(row["timestamp"] > noted_millis for row in rows[behind:])
