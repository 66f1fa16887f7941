"""A writer of Kafka rows that notes its times, with a producer in memory."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.marks import code_of, log_at, no_sync, noted
from support.producers import FakeProducer

from tidemark import TidemarkError
from tidemark.marks import KafkaPosition, NumberPosition

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def test_a_time_is_noted_behind_all_rows_that_were_handed_over(tmp_path: Path) -> None:
    log, producer = log_at(tmp_path), FakeProducer()
    with log.kafka_writer(producer, "orders", "gateway-7", admin=None) as writer:
        writer.note_time(5)
        for number in range(5):
            writer.produce(str(number), key=number)
        writer.note_time(10)
        writer.produce("5", 5)
        writer.end()
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


@pytest.mark.parametrize("fails", [True, False])
def test_leaving_the_block_closes_and_states_nothing(tmp_path: Path, fails: bool) -> None:
    log, producer = log_at(tmp_path), FakeProducer()
    with (
        suppress(KeyError),
        log.kafka_writer(producer, "orders", "w", admin=None) as writer,
    ):
        writer.produce("a")
        if fails:
            raise KeyError
    assert noted(log) == [("alive", None, None)]
    # The row is still the producer's, which has not been flushed.
    assert len(producer.queue) == 1
    with pytest.raises(TidemarkError) as error:
        writer.produce("b")
    assert code_of(error) == "MARK_WRITER_CLOSED"


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


def test_a_log_of_another_kind_of_position_is_refused(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    log.writer("w").note_time(1, NumberPosition(1))
    writer = log.kafka_writer(FakeProducer(), "orders", "w", admin=None)
    with pytest.raises(TidemarkError) as error:
        writer.note_time(2)
    assert code_of(error) == "MARK_POSITION_MISMATCH"


@pytest.mark.parametrize("topics", ["", [], [""], None, 7, ["a", 7]])
def test_what_is_not_a_topic_is_refused(tmp_path: Path, topics: Any) -> None:
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path).kafka_writer(FakeProducer(), topics, "w", admin=None)
    assert code_of(error) == "INVALID_OPTION"
    assert not list(tmp_path.iterdir())
