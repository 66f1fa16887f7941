"""A writer of Kafka rows that notes its times, with a producer in memory."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.marks import log_at, no_sync
from support.producers import FakeProducer

from tidemark import KafkaPosition, Mark, Marks, NumberPosition, TidemarkError
from tidemark._marks import kafka
from tidemark._marks.kafka_rows import Rows

pytestmark = pytest.mark.usefixtures(no_sync.__name__)

HOUR = timedelta(hours=1)


def noted(log: Marks) -> list[tuple[str, int | None, Any]]:
    def position(mark: Mark) -> Any:
        return mark.position.offsets if isinstance(mark.position, KafkaPosition) else None

    return [(mark.kind, mark.time_millis, position(mark)) for mark in log.read().marks]


def code_of(error: pytest.ExceptionInfo[TidemarkError]) -> str:
    return error.value.code


def test_a_time_is_noted_behind_all_rows_that_were_handed_over(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer()
    with log.kafka_writer(producer, "orders", "gateway-7", admin=None) as writer:
        writer.note_time(5)
        for number in range(5):
            writer.produce(str(number), key=number)
        writer.note_time(10)
        writer.produce("5", 5)
    assert noted(log) == [
        ("alive", None, None),
        ("note", 5, {}),
        ("note", 10, {"orders": {0: 3, 1: 2}}),
        ("end", None, {"orders": {0: 3, 1: 3}}),
    ]
    assert [row["value"] for row in producer.log["orders", 0]] == ["0", "2", "4"]


def test_a_row_has_the_topic_partition_timestamp_and_headers_that_are_given(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer()
    with log.kafka_writer(producer, ["orders", "returns"], "w", admin=None) as writer:
        writer.produce(b"v", topic="returns", partition=7, timestamp=123, headers=[("a", b"b")])
        writer.note_time(1)
        with pytest.raises(TidemarkError) as error:
            writer.produce(b"v")
        assert code_of(error) == "INVALID_OPTION"
        with pytest.raises(TidemarkError) as error:
            writer.produce(b"v", topic="elsewhere")
        assert error.value.parameters["allowed"] == "one of orders, returns"
    (row,) = producer.log["returns", 7]
    assert (row["timestamp"], row["headers"]) == (123, [("a", b"b")])
    assert noted(log)[1] == ("note", 1, {"returns": {7: 1}})


def test_a_later_life_begins_at_the_position_of_the_life_before(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer()
    with log.kafka_writer(producer, "orders", "w", admin=None) as writer:
        writer.produce("a", 0)
        writer.produce("b", 1)
        writer.note_time(10)
    with log.kafka_writer(producer, "orders", "w", admin=None) as writer:
        writer.produce("c", 1)
        writer.note_time(20)
        with pytest.raises(TidemarkError) as error:
            writer.note_time(19)
        assert code_of(error) == "MARK_GOES_BACK"
    assert noted(log)[-2:] == [
        ("note", 20, {"orders": {0: 1, 1: 2}}),
        ("end", None, {"orders": {0: 1, 1: 2}}),
    ]


def test_a_topic_that_was_made_anew_is_an_error(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    for producer in (FakeProducer(), FakeProducer()):
        writer = log.kafka_writer(producer, "orders", "w", admin=None)
        for _ in range(2 if not noted(log)[1:] else 1):
            writer.produce("a")
        if len(noted(log)) == 1:
            writer.note_time(1)
    with pytest.raises(TidemarkError) as error:
        writer.note_time(2)
    assert code_of(error) == "MARK_GOES_BACK"
    assert error.value.parameters["position"] == "orders-0"


def test_a_failed_delivery_stops_marks_until_the_failure_is_accepted(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer(fails=lambda value: value == "bad")
    failed: list[str] = []

    def told(error: object, message: Any) -> None:
        if error is not None:
            failed.append(message.value())

    with log.kafka_writer(producer, "orders", "w", admin=None) as writer:
        for value in ("good", "bad", "bad"):
            writer.produce(value, on_delivery=told)
        for call in (lambda: writer.note_time(10), writer.idle, writer.end):
            with pytest.raises(TidemarkError) as error:
                call()
            assert code_of(error) == "MARK_ROWS_FAILED"
        assert error.value.parameters == {"writer": "w", "count": "2", "reason": "timed out"}
        assert failed == ["bad", "bad"]
        assert noted(log) == [("alive", None, None)]
        producer.fails = lambda value: False
        assert writer.accept_failures() == 2
        for value in failed:
            writer.produce(value)
        writer.note_time(10)
        assert writer.accept_failures() == 0
    assert noted(log)[1] == ("note", 10, {"orders": {0: 3}})


def test_a_row_may_be_sent_again_from_its_own_report(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer(fails=lambda value: value == "bad")
    writer = log.kafka_writer(producer, "orders", "w", admin=None)

    def again(error: object, message: Any) -> None:
        if error is not None:
            writer.accept_failures()
            writer.produce("good", on_delivery=again)

    writer.produce("bad", on_delivery=again)
    # The row that was sent again is not waited for, so this call cannot note the time.
    with pytest.raises(TidemarkError) as error:
        writer.note_time(1)
    assert code_of(error) == "MARK_ROWS_FAILED"
    writer.note_time(1)
    assert noted(log)[-1] == ("note", 1, {"orders": {0: 1}})


@pytest.mark.parametrize("call", ["note_time", "idle", "end"])
def test_a_call_that_waits_for_reports_is_refused_inside_a_report(
    tmp_path: Path, call: str
) -> None:
    log, producer = log_at(tmp_path), FakeProducer()
    writer = log.kafka_writer(producer, "orders", "w", admin=None)
    errors: list[str] = []

    def told(_: object, message: Any) -> None:
        writer.alive()
        with pytest.raises(TidemarkError) as error:
            getattr(writer, call)(*[1][: call == "note_time"])
        errors.append(code_of(error))

    writer.produce("a", on_delivery=told)
    writer.note_time(1)
    assert errors == ["MARK_CALL_INSIDE"]
    assert noted(log)[-1] == ("note", 1, {"orders": {0: 1}})


def test_an_exception_of_a_report_comes_out_of_the_call_that_served_it(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer()
    with log.kafka_writer(producer, "orders", "w", admin=None) as writer:

        def fail(*_: object) -> None:
            raise KeyError("the user's")

        writer.produce("a", on_delivery=fail)
        with pytest.raises(KeyError):
            writer.note_time(1)
        assert noted(log) == [("alive", None, None)]
        writer.produce("b", on_delivery=fail)
        with pytest.raises(KeyError):
            writer.produce("never sent")
        writer.note_time(1)
    assert noted(log)[1] == ("note", 1, {"orders": {0: 2}})


def test_a_row_that_the_producer_does_not_take_is_not_waited_for(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer()
    with log.kafka_writer(producer, "orders", "w", admin=None) as writer:
        with pytest.raises(BufferError):
            writer.produce(b"too large")
        writer.note_time(1)
    assert noted(log)[1] == ("note", 1, {})


def test_no_lock_is_held_while_a_report_calls_a_function(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer()
    with log.kafka_writer(producer, "orders", "w", automatic=HOUR, admin=None) as writer:
        done: list[bool] = []

        def told(*_: object) -> None:
            def others() -> None:
                writer.produce("from another thread")
                writer.alive()
                writer.accept_failures()

            thread = threading.Thread(target=others)
            thread.start()
            thread.join(10)
            done.append(not thread.is_alive())

        writer.produce("a", on_delivery=told)
        writer.note_now()
    assert done == [True]


def test_offsets_that_are_not_told_stop_marks_until_a_later_row_tells_one(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer(tells_offsets=False)
    with log.kafka_writer(producer, "orders", "w", admin=None) as writer:
        writer.produce("a", 1)
        with pytest.raises(TidemarkError) as error:
            writer.note_time(1)
        assert code_of(error) == "MARK_POSITION_UNKNOWN"
        assert error.value.parameters["position"] == "orders-1"
        producer.tells_offsets = True
        writer.produce("b", 0)
        with pytest.raises(TidemarkError):
            writer.note_time(1)
        writer.produce("c", 1)
        writer.note_time(1)
    assert noted(log)[1] == ("note", 1, {"orders": {0: 1, 1: 2}})


def test_a_row_that_was_handed_over_too_early_does_not_tell_a_lost_offset() -> None:
    rows = Rows()
    for number in range(2):
        assert rows.add() == number
    # The two may have been sent in the other order, or sent again.
    rows.arrived(0, "orders", 0, None)
    rows.arrived(1, "orders", 0, 5)
    assert rows.lost_offset() == ("orders", 0)
    rows.arrived(rows.add(), "orders", 0, 6)
    assert rows.lost_offset() is None


def test_a_producer_that_does_not_report_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "REPORT_SECONDS", 0.02)
    monkeypatch.setattr(kafka, "FLUSH_SECONDS", 0.01)
    writer = log_at(tmp_path).kafka_writer(FakeProducer(reports=False), "orders", "w", admin=None)
    writer.produce("a")
    with pytest.raises(TidemarkError) as error:
        writer.note_time(1)
    assert code_of(error) == "MARK_POSITION_UNKNOWN"


def test_a_writer_that_is_closed_while_it_waits_notes_nothing(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer(is_down=True)
    writer = log.kafka_writer(producer, "orders", "w", admin=None)
    writer.produce("a")
    codes: list[str] = []

    def note() -> None:
        with pytest.raises(TidemarkError) as error:
            writer.note_time(1)
        codes.append(code_of(error))

    thread = threading.Thread(target=note)
    thread.start()
    while not producer.flushes:
        pass
    writer.close()
    thread.join(10)
    assert codes == ["MARK_WRITER_CLOSED"]
    for call in (writer.alive, writer.idle, lambda: writer.produce("b")):
        with pytest.raises(TidemarkError) as error:
            call()
        assert code_of(error) == "MARK_WRITER_CLOSED"
    writer.end()
    assert noted(log) == [("alive", None, None)]


def test_an_exception_in_the_block_leaves_no_end(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer()

    def fail() -> None:
        with log.kafka_writer(producer, "orders", "w", admin=None) as writer:
            writer.produce("a")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert noted(log) == [("alive", None, None)]


def test_an_idle_writer_is_left_out_until_its_next_mark(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer()
    quiet, busy = (
        log.kafka_writer(producer, "orders", name, admin=None) for name in ("quiet", "busy")
    )
    quiet.produce("a")
    quiet.note_time(1)
    quiet.idle()
    busy.produce("b", 1)
    busy.note_time(100)
    read = KafkaPosition({"orders": {0: 1, 1: 1}})
    assert log.window(read).lower_millis == 100
    quiet.produce("c")
    quiet.note_time(101)
    assert log.window(KafkaPosition({"orders": {0: 2, 1: 1}})).lower_millis == 100


def test_a_writer_that_was_replaced_is_told(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer()
    old = log.kafka_writer(producer, "orders", "w", automatic=HOUR, admin=None)
    old.produce("a")
    new = log.kafka_writer(producer, "orders", "w", admin=None)
    with pytest.raises(TidemarkError) as error:
        old.note_now()
    assert code_of(error) == "MARK_WRITER_FENCED"
    new.note_time(10**15)
    old.close()


def test_a_log_of_another_kind_of_position_is_refused(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    log.writer("w").note_time(1, NumberPosition(1))
    writer = log.kafka_writer(FakeProducer(), "orders", "w", admin=None)
    with pytest.raises(TidemarkError) as error:
        writer.note_time(2)
    assert code_of(error) == "MARK_POSITION_MISMATCH"


@pytest.mark.parametrize("topics", ["", [], [""], None, 7, ["a", 7]])
def test_what_is_no_topic_is_refused(tmp_path: Path, topics: Any) -> None:
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path).kafka_writer(FakeProducer(), topics, "w", admin=None)
    assert code_of(error) == "INVALID_OPTION"
    assert not list(tmp_path.iterdir())


# Automatic noting


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
    for one in opened:
        one.close()


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

    def told(*_: object) -> None:
        now[0] += 100
        writer.produce("b")
        producer.is_down = True
        now[0] += 100

    writer.produce("a", on_delivery=told)
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
    assert producer.log["orders", 0][0]["timestamp"] == 5001


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


def test_closing_does_not_wait_for_brokers_that_are_out_of_reach(tmp_path: Path) -> None:
    producer = FakeProducer(is_down=True)
    log = Marks(tmp_path)
    writer = log.kafka_writer(
        producer, "orders", "w", automatic=timedelta(milliseconds=1), admin=None
    )
    writer.produce("a")
    while not producer.flushes:
        pass
    writer.close()
    assert noted(log)[-1][0] in ("alive", "note")


def test_automatic_noting_repeats_by_itself(tmp_path: Path) -> None:
    producer = FakeProducer()
    log = Marks(tmp_path)
    with log.kafka_writer(
        producer, "orders", "w", automatic=timedelta(milliseconds=1), admin=None
    ) as writer:
        writer.produce("a")
        while not any(mark[0] == "note" and mark[2] for mark in noted(log)):
            pass
    assert noted(log)[-1] == ("end", None, {"orders": {0: 1}})


@pytest.mark.parametrize("explicit", [True, False])
def test_rows_of_many_threads_are_all_before_the_mark_that_follows_them(
    tmp_path: Path, explicit: bool
) -> None:
    class Racing(FakeProducer):
        """Several threads may serve at once, as with the real one."""

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

    threads = [threading.Thread(target=send, args=(one,)) for one in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.end()
    marks = [mark for mark in noted(log) if mark[0] == "note"]
    assert len(marks) >= (16 if explicit else 1)
    assert sum(map(len, producer.log.values())) == 800
    for _, noted_millis, position in marks:
        for (topic, partition), rows in producer.log.items():
            behind = position.get(topic, {}).get(partition, 0)
            assert all(row["timestamp"] > noted_millis for row in rows[behind:])


# The ends of topics, which a new life begins at


class Admin:
    """What a writer needs of `confluent_kafka.admin.AdminClient`."""

    def __init__(self, ends: dict[str, dict[int, int]], error: Exception | None = None) -> None:
        self.topics = {topic: Topic(dict.fromkeys(ends[topic])) for topic in ends}
        self._ends = ends
        self._error = error

    def list_topics(self, timeout: float) -> Admin:
        return self

    def list_offsets(self, asked: dict[Any, Any], request_timeout: float) -> dict[Any, Any]:
        return {one: End(self._ends[one.topic][one.partition], self._error) for one in asked}


class Topic:
    def __init__(self, partitions: dict[int, None]) -> None:
        self.partitions = partitions


class End:
    def __init__(self, offset: int, error: Exception | None) -> None:
        self.offset = offset
        self._error = error

    def result(self) -> End:
        if self._error is not None:
            raise self._error
        return self


def test_with_an_admin_a_life_begins_behind_all_rows_that_are_there(tmp_path: Path) -> None:
    pytest.importorskip("confluent_kafka")
    log, producer = log_at(tmp_path), FakeProducer()
    admin: Any = Admin({"orders": {0: 7, 1: 0}, "other": {0: 9}})
    with log.kafka_writer(producer, ["orders", "new"], "w", admin=admin) as writer:
        writer.note_time(1)
    assert noted(log)[1] == ("note", 1, {"orders": {0: 7, 1: 0}})


def test_brokers_that_give_no_offsets_are_an_error(tmp_path: Path) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    admin: Any = Admin({"orders": {0: 7}}, confluent_kafka.KafkaException("no leader"))
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path).kafka_writer(FakeProducer(), "orders", "w", admin=admin)
    assert code_of(error) == "MARK_POSITION_UNKNOWN"
    assert "no leader" in error.value.parameters["reason"]


def test_without_an_admin_a_life_after_one_that_did_not_end_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = log_at(tmp_path)
    with caplog.at_level(logging.WARNING, "tidemark"):
        with log.kafka_writer(FakeProducer(), "orders", "w", admin=None):
            pass
        log.kafka_writer(FakeProducer(), "orders", "w", admin=None).close()
        assert not caplog.messages
        log.kafka_writer(FakeProducer(), "orders", "w", admin=None)
    assert "was not ended" in caplog.text
