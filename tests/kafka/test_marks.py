"""A writer of Kafka rows that notes its times, against a real broker: its promises hold in the topic."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_broker.broker import broker
from tidemark import TidemarkError
from tidemark.marks import KafkaPosition, Marks

pytestmark = pytest.mark.kafka

SCRIPT = Path(__file__).parents[1] / "scripts" / "kafka_marks.py"
PARTITIONS = 3
Row = tuple[int, int, int]  # its partition, its offset, its timestamp


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture
def make_topic(servers: str, request: pytest.FixtureRequest) -> Callable[..., str]:
    def make(**config: str) -> str:
        name = f"t{abs(hash(request.node.name))}"
        admin = AdminClient({"bootstrap.servers": servers})
        topic = NewTopic(name, num_partitions=PARTITIONS, replication_factor=1, config=config)
        for future in admin.create_topics([topic]).values():
            future.result(timeout=60)
        return name

    return make


def producer_of(servers: str, **settings: Any) -> Producer:
    return Producer({"bootstrap.servers": servers, "linger.ms": 1, **settings})


def rows_of(servers: str, topic: str) -> list[Row]:
    """All rows of a topic, in any order."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "t", "isolation.level": "read_uncommitted"}
    )
    parts = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)]
    ends = {part.partition: consumer.get_watermark_offsets(part, timeout=30)[1] for part in parts}
    consumer.assign(parts)
    rows: list[Row] = []
    while len(rows) < sum(ends.values()):
        for message in consumer.consume(1000, timeout=0.2):
            assert message.error() is None
            rows.append((message.partition(), message.offset(), message.timestamp()[1]))
    consumer.close()
    return rows


def require_promises(log: Marks, topic: str, rows: list[Row]) -> int:
    """No row behind a mark has its time or a lower one; returns how many times were noted."""
    notes = [mark for mark in log.read().marks if mark.kind == "note"]
    for mark in notes:
        assert mark.time_millis is not None and isinstance(mark.position, KafkaPosition)
        behind = mark.position.offsets.get(topic, {})
        late = [
            row for row in rows if row[1] >= behind.get(row[0], 0) and row[2] <= mark.time_millis
        ]
        assert late == [], mark
    return len(notes)


def test_times_are_noted_behind_the_rows_that_a_broker_has(
    servers: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, log = make_topic(), Marks(tmp_path, max_ahead=None)
    arrived: list[int] = []
    with log.kafka_writer(producer_of(servers), topic, "w", admin=None) as writer:
        for number in range(1, 2001):
            keep = lambda error, message: arrived.append(message.offset())  # noqa: E731
            writer.produce(b"x", str(number % 10), timestamp=number, on_delivery=keep)
            if number % 500 == 0:
                writer.note_time(number)
                assert len(arrived) == number
    rows = rows_of(servers, topic)
    assert require_promises(log, topic, rows) == 4
    ends: dict[int, int] = {}
    for partition, offset, _ in rows:
        ends[partition] = max(offset + 1, ends.get(partition, 0))
    assert log.cut_at(2000).position == KafkaPosition({topic: ends})


def test_automatic_times_hold_for_the_timestamps_in_the_topic(
    servers: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, log = make_topic(), Marks(tmp_path)
    period = timedelta(milliseconds=5)
    with log.kafka_writer(producer_of(servers), topic, "w", automatic=period, admin=None) as writer:
        for number in range(5000):
            writer.produce(b"x", str(number % 10))
            if number % 1000 == 0:
                writer.note_now()
    assert require_promises(log, topic, rows_of(servers, topic)) >= 5


@pytest.mark.parametrize("automatic", [False, True])
def test_a_writer_that_is_killed_again_and_again_keeps_its_promises(
    servers: str, make_topic: Callable[..., str], tmp_path: Path, automatic: bool
) -> None:
    topic, log = make_topic(), Marks(tmp_path, max_ahead=None)
    chance = random.Random(5)
    command = [sys.executable, str(SCRIPT), servers, topic, str(tmp_path), *["auto"][:automatic]]
    for _ in range(5):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.random() / 2)
        process.kill()
        process.wait()
        process.stdout.close()
    rows = rows_of(servers, topic)
    assert require_promises(log, topic, rows) > 5
    assert len({mark.epoch for mark in log.read().marks}) == 5
    assert len({row[0] for row in rows}) == 2


def test_a_row_that_the_broker_refuses_can_be_replaced_from_its_own_report(
    servers: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, log = make_topic(**{"max.message.bytes": "2000"}), Marks(tmp_path, max_ahead=None)
    writer = log.kafka_writer(producer_of(servers), topic, "w", admin=None)

    def smaller(error: object, message: Any) -> None:
        if error is not None:
            writer.accept_failures()
            writer.produce(b"small", partition=0, timestamp=5)

    writer.produce(b"x" * 5000, partition=0, timestamp=5, on_delivery=smaller)
    writer.produce(b"y", partition=1, timestamp=6)
    with pytest.raises(TidemarkError) as error:
        writer.note_time(6)
    assert error.value.code == "MARK_ROWS_FAILED"
    assert "MSG_SIZE_TOO_LARGE" in error.value.parameters["reason"]
    writer.note_time(6)
    assert log.cut_at(6).position == KafkaPosition({topic: {0: 1, 1: 1}})


def test_timestamps_that_the_broker_replaces_are_noticed(
    servers: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, log = make_topic(**{"message.timestamp.type": "LogAppendTime"}), Marks(tmp_path)
    writer = log.kafka_writer(
        producer_of(servers), topic, "w", automatic=timedelta(hours=1), admin=None
    )
    writer.produce(b"x")
    with pytest.raises(TidemarkError) as error:
        writer.note_now()
    assert error.value.code == "MARK_TIME_REPLACED"
    writer.close()


@pytest.mark.parametrize("settings", [{"acks": 0}, {"delivery.report.only.error": True}])
def test_a_producer_that_does_not_tell_offsets_is_noticed(
    servers: str, make_topic: Callable[..., str], tmp_path: Path, settings: dict[str, Any]
) -> None:
    writer = Marks(tmp_path).kafka_writer(
        producer_of(servers, **settings), make_topic(), "w", admin=None
    )
    writer.produce(b"x")
    with pytest.raises(TidemarkError) as error:
        writer.note_time(1)
    assert error.value.code == "MARK_POSITION_UNKNOWN"


def test_an_aborted_transaction_is_accounted_for_by_its_writer(
    servers: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, log = make_topic(), Marks(tmp_path, max_ahead=None)
    producer = producer_of(servers, **{"transactional.id": "t", "linger.ms": 20_000})
    producer.init_transactions(30)
    with log.kafka_writer(producer, topic, "w", admin=None) as writer:
        producer.begin_transaction()
        writer.produce(b"x", partition=0, timestamp=1)
        producer.abort_transaction(30)
        with pytest.raises(TidemarkError) as error:
            writer.note_time(1)
        assert error.value.code == "MARK_ROWS_FAILED"
        writer.accept_failures()
        producer.begin_transaction()
        writer.produce(b"x", partition=0, timestamp=1)
        producer.commit_transaction(30)
        writer.note_time(1)
    assert log.cut_at(1).position == KafkaPosition({topic: {0: 1}})
