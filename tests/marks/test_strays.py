"""A stray writer, whose positions are of another kind than those of all others in the log."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.marks import kinds, log_at, no_sync, put, refused
from support.producers import FakeProducer
from support.topics import FakeTopic

from tidemark import TidemarkError
from tidemark.marks import DeltaPosition, KafkaPosition, Marks, NumberPosition, SinkBatchPosition

pytestmark = pytest.mark.usefixtures(no_sync.__name__)

KAFKA = KafkaPosition({"t": {0: 1}})
STRAY = ("MARK_POSITION_MISMATCH", "stray")


def test_a_stray_writer_is_told_by_its_first_note(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    stray = log.writer("stray")
    log.writer("silent")
    log.writer("eu").note_time(1, KAFKA)
    for call in (
        lambda: stray.note_time(2, NumberPosition(1)),
        lambda: stray.commit(2, ["a"]),
        lambda: stray.end(SinkBatchPosition(1)),
    ):
        with pytest.raises(TidemarkError) as error:
            call()
        assert refused(error) == STRAY
        assert error.value.parameters["other"] == "kafka"
    # Nothing was written, and the right position is taken.
    stray.note_time(2, KAFKA)
    assert log.is_complete(1) is False and ("note", 2) in kinds(log)


def test_a_position_of_another_delta_table_is_told_too(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    log.writer("eu").note_time(1, DeltaPosition("x", 1))
    with pytest.raises(TidemarkError) as error:
        log.writer("stray").note_time(1, DeltaPosition("y", 1))
    assert refused(error) == STRAY
    assert error.value.parameters["position"] == "delta table y"


def test_sealed_marks_of_others_count(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    with log.writer("eu") as eu:
        eu.note_time(1, KAFKA)
        for _ in range(300):
            eu.alive()
    with pytest.raises(TidemarkError) as error:
        log.writer("stray").note_time(1, NumberPosition(1))
    assert refused(error) == STRAY


def test_a_writer_is_not_refused_because_of_a_stray_one(tmp_path: Path) -> None:
    put(
        tmp_path,
        [
            {"w": "astray", "t": 100, "p": {"number": 1}},
            {"w": "eu", "t": 100, "p": {"kafka": {"t": {"0": 1}}}},
        ],
    )
    log_at(tmp_path).writer("us").note_time(1, KAFKA)
    # A writer whose log leaves the stray one out may be the first of the right ones.
    (tmp_path / "eu.1.0.marks").unlink()
    (tmp_path / "us.0.1.marks").unlink()
    log_at(tmp_path, expected="asia", only_expected=True).writer("asia").note_time(1, KAFKA)


def test_readers_pass_over_a_stray_writer_with_only_expected(tmp_path: Path) -> None:
    put(
        tmp_path,
        [
            {"w": "stray", "t": 50, "p": {"number": 1}},
            {"w": "eu", "t": 100, "p": {"kafka": {"t": {"0": 1}}}},
        ],
    )
    for ask in (
        lambda log: log.is_complete(100),
        lambda log: log.cut_at(100).position == KAFKA,
        lambda log: log.window(KAFKA).lower_millis == 100,
        lambda log: log.waiting_for(100) == (),
    ):
        assert ask(log_at(tmp_path, expected="eu", only_expected=True))
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path).window(KAFKA)
    assert refused(error) == STRAY
    # The other way out.
    (tmp_path / "stray.1.0.marks").unlink()
    assert log_at(tmp_path).is_complete(100)


@pytest.mark.parametrize("call", [lambda writer: writer.note_now(), lambda writer: writer.end()])
def test_an_automatic_writer_is_told_too(tmp_path: Path, call: Callable[[Any], object]) -> None:
    log = log_at(tmp_path)
    log.writer("eu").note_time(1, KAFKA)
    stray = log.writer("stray", flush=lambda: NumberPosition(1), automatic=timedelta(hours=1))
    with pytest.raises(TidemarkError) as error:
        call(stray)
    assert refused(error) == STRAY
    stray.close()


def test_a_writer_of_kafka_rows_is_told_too(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    log.writer("eu").note_time(1, NumberPosition(1))
    stray = log.kafka_writer(FakeProducer(), "orders", "stray", admin=None)
    with pytest.raises(TidemarkError) as error:
        stray.note_time(1)
    assert refused(error) == STRAY


def test_a_stray_writer_in_a_topic_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = FakeTopic()
    monkeypatch.setattr("tidemark_marks._locations.KafkaTopic", lambda name, options: topic)

    def log(stream: str) -> Marks:
        return Marks(f"kafka:marks/{stream}", options={"bootstrap.servers": "nowhere:1"})

    log("orders").writer("eu").note_time(1, KAFKA)
    log("hourly").writer("stray").note_time(1, NumberPosition(1))
    with pytest.raises(TidemarkError) as error:
        log("orders").writer("stray").note_time(1, NumberPosition(1))
    assert refused(error) == STRAY


def test_no_mark_is_lost_because_others_cannot_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_at(tmp_path)
    log.writer("eu").note_time(1, KAFKA)
    writer, stray = log.writer("us"), log.writer("stray")

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "read", fail)
        writer.note_time(1, KAFKA)
        stray.note_time(1, NumberPosition(1))
    writer.note_time(2, KAFKA)
    # It is looked for again with the next mark.
    with pytest.raises(TidemarkError) as error:
        stray.note_time(2, NumberPosition(2))
    assert refused(error) == STRAY
