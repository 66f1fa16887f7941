"""What a writer of Kafka rows does with the producer's delivery reports, and with those that fail."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.marks import code_of, log_at, no_sync, noted
from support.producers import FakeProducer

from tidemark import TidemarkError
from tidemark.marks import Marks
from tidemark_marks._kafka import deliveries as kafka_deliveries
from tidemark_marks._kafka.rows import Rows

pytestmark = pytest.mark.usefixtures(no_sync.__name__)

HOUR = timedelta(hours=1)


def test_a_failed_delivery_stops_marks_until_the_failure_is_accepted(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer(fails=lambda value: value == "bad")
    failed: list[str] = []

    def keep_failed(error: object, message: Any) -> None:
        if error is not None:
            failed.append(message.value())

    with log.kafka_writer(producer, "orders", "w", admin=None) as writer:
        for value in ("good", "bad", "bad"):
            writer.produce(value, on_delivery=keep_failed)
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

    def resend(error: object, message: Any) -> None:
        if error is not None:
            writer.accept_failures()
            writer.produce("good", on_delivery=resend)

    writer.produce("bad", on_delivery=resend)
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

    def call_inside(_: object, message: Any) -> None:
        writer.alive()
        with pytest.raises(TidemarkError) as error:
            getattr(writer, call)(*[1][: call == "note_time"])
        errors.append(code_of(error))

    writer.produce("a", on_delivery=call_inside)
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

        def call_from_a_thread(*_: object) -> None:
            def others() -> None:
                writer.produce("from another thread")
                writer.alive()
                writer.accept_failures()

            thread = threading.Thread(target=others)
            thread.start()
            thread.join(10)
            done.append(not thread.is_alive())

        writer.produce("a", on_delivery=call_from_a_thread)
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
    monkeypatch.setattr(kafka_deliveries, "REPORT_SECONDS", 0.02)
    monkeypatch.setattr(kafka_deliveries, "FLUSH_SECONDS", 0.01)
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
