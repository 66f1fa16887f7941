"""A mark log in Kafka against a real broker: writers, transactions, kills, and another implementation."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_broker.broker import broker
from tidemark import TidemarkError
from tidemark.marks import KafkaPosition, Marks, NumberPosition

pytestmark = pytest.mark.kafka

SCRIPT = Path(__file__).parents[1] / "scripts" / "transaction.py"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker(tmp_path_factory.mktemp("kafka")) as running:
        admin = AdminClient({"bootstrap.servers": running})
        compacted = {"cleanup.policy": "compact"}
        topics = [
            NewTopic("marks", num_partitions=3, replication_factor=1),
            NewTopic("orders", num_partitions=1, replication_factor=1),
            NewTopic("compacted", num_partitions=1, replication_factor=1, config=compacted),
        ]
        for future in admin.create_topics(topics).values():
            future.result(timeout=60)
        yield running


def log(servers: str, stream: str, topic: str = "marks") -> Marks:
    options = {"bootstrap.servers": servers}
    return Marks(f"kafka:{topic}/{stream}", options=options, max_ahead=None)


def producer_of(servers: str, **settings: Any) -> Producer:
    return Producer({"bootstrap.servers": servers, **settings})


def values_of(servers: str, topic: str, partitions: int) -> list[tuple[bytes, bytes]]:
    """The committed records of a topic: keys and values."""
    settings = {"group.id": "t", "isolation.level": "read_committed", "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": servers, **settings})
    consumer.assign(
        [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)]
    )
    found: list[tuple[bytes, bytes]] = []
    left = partitions
    while left:
        message = consumer.poll(30)
        assert message is not None
        if message.error() is not None:
            left -= 1
        else:
            found.append((message.key(), message.value()))
    consumer.close()
    return found


def test_what_is_noted_can_be_read_and_a_zombie_is_fenced(servers: str) -> None:
    marks = log(servers, "plain")
    old = marks.writer("eu")
    for number in range(100):
        old.note_time(number, NumberPosition(number))
    assert marks.is_complete(99) and not marks.is_complete(100)
    new = marks.writer("eu")
    with pytest.raises(TidemarkError) as error:
        old.note_time(500, NumberPosition(500))
    assert error.value.code == "MARK_WRITER_FENCED"
    assert not log(servers, "plain").is_complete(100)
    new.note_time(100, NumberPosition(100))
    new.end()
    assert marks.is_complete(100)
    assert marks.cut_at(50).position == NumberPosition(50)
    assert marks.read().skipped == ()


def test_rows_and_mark_of_a_writer_that_is_killed_before_its_commit_are_never_seen(
    servers: str,
) -> None:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), servers], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    process.kill()
    process.wait()
    process.stdout.close()
    marks = log(servers, "orders")
    assert marks.is_complete(1) and not marks.is_complete(2)
    # What another process of that transactional id does first ends the open transaction.
    producer = producer_of(servers, **{"transactional.id": "us"})
    producer.init_transactions(60)
    admin = AdminClient({"bootstrap.servers": servers})
    with marks.kafka_writer(producer, "orders", "us", admin=admin) as writer:
        assert not marks.is_complete(2)
        producer.begin_transaction()
        writer.produce(b"third", partition=0)
        writer.abort_transaction()
        producer.begin_transaction()
        writer.produce(b"fourth", partition=0)
        writer.commit_transaction(3)
    assert [value for _, value in values_of(servers, "orders", 1)] == [b"first", b"fourth"]
    assert marks.is_complete(3)
    cut = marks.cut_at(3).position
    assert isinstance(cut, KafkaPosition)
    # Behind the rows and the ends of three transactions; the row of the aborted one may not have been sent.
    assert cut.offsets["orders"][0] >= 5
    noted = [mark.time_millis for mark in marks.read().marks if mark.kind == "note"]
    assert noted == [1, 3]


def test_a_transactional_writer_whose_place_was_taken_commits_nothing(servers: str) -> None:
    marks = log(servers, "taken")
    producers = [producer_of(servers, **{"transactional.id": f"taken-{n}"}) for n in range(2)]
    for producer in producers:
        producer.init_transactions(60)
    old = marks.kafka_writer(producers[0], "orders", "eu", admin=None)
    producers[0].begin_transaction()
    old.produce(b"zombie", partition=0)
    marks.kafka_writer(producers[1], "orders", "eu", admin=None)
    with pytest.raises(TidemarkError) as error:
        old.commit_transaction(5)
    assert error.value.code == "MARK_WRITER_FENCED"
    old.abort_transaction()
    assert b"zombie" not in [value for _, value in values_of(servers, "orders", 1)]
    assert marks.watermark() is None


def test_kafka_itself_fences_a_producer_of_the_same_transactional_id(servers: str) -> None:
    marks = log(servers, "same")
    old_producer = producer_of(servers, **{"transactional.id": "same"})
    old_producer.init_transactions(60)
    old = marks.kafka_writer(old_producer, "orders", "eu", admin=None)
    old_producer.begin_transaction()
    old.produce(b"zombie", partition=0)
    new_producer = producer_of(servers, **{"transactional.id": "same"})
    new_producer.init_transactions(60)
    with pytest.raises(TidemarkError) as error:
        old.commit_transaction(5)
    # A row that was not sent before fails first.
    assert error.value.code in ("MARK_WRITER_FENCED", "MARK_ROWS_FAILED")
    assert marks.watermark() is None


@pytest.mark.parametrize(
    ("topic", "reason"), [("none", "UNKNOWN_TOPIC"), ("compacted", "cleanup.policy=compact")]
)
def test_a_topic_that_cannot_have_marks_is_refused_and_not_created(
    servers: str, topic: str, reason: str
) -> None:
    with pytest.raises(TidemarkError) as error:
        log(servers, "x", topic).writer("eu")
    assert error.value.code == "MARK_NOT_WRITTEN"
    assert reason in error.value.parameters["reason"]
    admin = AdminClient({"bootstrap.servers": servers})
    assert "none" not in admin.list_topics(timeout=30).topics


def test_a_mark_that_the_topic_does_not_take_is_refused(servers: str) -> None:
    with log(servers, "long").writer("eu") as writer:
        with pytest.raises(TidemarkError) as error:
            writer.note_time(1, files=[f"{n:0200}" for n in range(10_000)])
        assert error.value.code == "MARK_TOO_LONG"
        writer.note_time(2, files=["a"])
    assert log(servers, "long").is_complete(2)


def test_brokers_that_are_away_are_named(servers: str) -> None:
    options = {"bootstrap.servers": "127.0.0.1:1", "socket.timeout.ms": 500, "log_level": 0}
    marks = Marks("kafka:marks", options=options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tidemark_marks._kafka.topic_client._SECONDS", 1.0)
        with pytest.raises(TidemarkError) as error:
            marks.watermark()
    assert error.value.code == "MARK_LOG_NOT_READ"


def test_an_implementation_of_the_page_alone_writes_and_reads(servers: str) -> None:
    """What docs/noted-time/format.md says is enough: a claim, a mark, and the records of a stream."""
    key = b"page\0other"
    claim = {"v": 1, "w": "other", "e": 77, "k": "claim", "id": "a1", "at": 5}
    alive = {"v": 1, "w": "other", "e": 77, "n": 0, "k": "alive", "at": 6}
    note = {**alive, "n": 1, "k": "note", "t": 40, "p": {"number": 8}}
    producer = producer_of(servers, acks="all")
    for mark in (claim, alive, note):
        producer.produce("marks", json.dumps(mark), key)
    producer.flush()
    marks = log(servers, "page")
    assert marks.is_complete(40) and not marks.is_complete(41)
    with marks.writer("other") as later:
        # It is behind the other implementation's life, and fences that off.
        assert later.epoch > 77
        later.note_time(50, NumberPosition(9))
        later.end()
    own = [json.loads(value) for at, value in values_of(servers, "marks", 3) if at == key]
    mine = sorted(
        (mark for mark in own if mark["e"] > 77 and "n" in mark), key=lambda mark: mark["n"]
    )
    assert [mark["k"] for mark in mine] == ["alive", "note", "end"]
    assert mine[0]["after"] == [77, 1]
    assert (mine[1]["t"], mine[1]["p"]) == (50, {"number": 9})
