"""Where a new life of a writer of Kafka rows begins, with a producer and an admin client in memory."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.marks import code_of, log_at, no_sync, noted
from support.producers import FakeProducer

from tidemark import TidemarkError

pytestmark = pytest.mark.usefixtures(no_sync.__name__)

HOUR = timedelta(hours=1)


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
    assert noted(log)[-1] == ("note", 20, {"orders": {0: 1, 1: 2}})


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


class Admin:
    """What a writer needs of `confluent_kafka.admin.AdminClient`."""

    def __init__(self, ends: dict[str, dict[int, int]], error: Exception | None = None) -> None:
        self.topics = {topic: Topic(dict.fromkeys(ends[topic])) for topic in ends}
        self._ends = ends
        self._error = error

    def list_topics(self, timeout: float) -> Admin:
        return self

    def list_offsets(self, asked: dict[Any, Any], request_timeout: float) -> dict[Any, Any]:
        return {
            partition: End(self._ends[partition.topic][partition.partition], self._error)
            for partition in asked
        }


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
        log.kafka_writer(FakeProducer(), "orders", "w", admin=None).end()
        log.kafka_writer(FakeProducer(), "orders", "w", admin=None).close()
        assert not caplog.messages
        log.kafka_writer(FakeProducer(), "orders", "w", admin=None)
    assert "was not ended" in caplog.text
