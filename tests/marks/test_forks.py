"""A writer in a fork of its process: it is refused by name, and the parent's marks stay whole."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.forks import code_in_fork
from support.marks import kinds, log_at, no_sync
from support.producers import FakeProducer

from tidemark.marks import NumberPosition

pytestmark = [
    pytest.mark.usefixtures(no_sync.__name__),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks"),
    # The writers that note by themselves have a thread, which a fork has not.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

HOUR = timedelta(hours=1)
FORKED = "MARK_WRITER_FORKED"


def stamp(writer: Any) -> None:
    with writer.stamp():
        pass


CALLS: list[Callable[[Any], object]] = [
    lambda writer: writer.note_time(2, NumberPosition(2)),
    lambda writer: writer.commit(2, ["b"]),
    lambda writer: writer.alive(),
    lambda writer: writer.idle(),
    lambda writer: writer.end(),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_writer_is_refused_in_a_fork(tmp_path: Path, call: Callable[[Any], object]) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")
    writer.note_time(1, NumberPosition(1))
    assert code_in_fork(lambda: call(writer)) == FORKED
    writer.note_time(3, NumberPosition(3))
    assert kinds(log) == [("alive", None), ("note", 1), ("note", 3)]


@pytest.mark.parametrize("call", [stamp, *(CALLS[at] for at in (2, 3, 4)), lambda w: w.note_now()])
def test_an_automatic_writer_is_refused_in_a_fork(
    tmp_path: Path, call: Callable[[Any], object]
) -> None:
    writer = log_at(tmp_path).writer("w", flush=lambda: NumberPosition(1), automatic=HOUR)
    assert code_in_fork(lambda: call(writer)) == FORKED
    writer.close()


KAFKA_CALLS: list[Callable[[Any], object]] = [
    lambda writer: writer.produce(b"x"),
    lambda writer: writer.accept_failures(),
    *CALLS[2:],
]


@pytest.mark.parametrize("call", [lambda writer: writer.note_time(2), *KAFKA_CALLS])
def test_a_writer_of_kafka_rows_is_refused_in_a_fork(
    tmp_path: Path, call: Callable[[Any], object]
) -> None:
    writer = log_at(tmp_path).kafka_writer(FakeProducer(), "orders", "w", admin=None)
    assert code_in_fork(lambda: call(writer)) == FORKED


@pytest.mark.parametrize("call", [lambda writer: writer.note_now(), *KAFKA_CALLS])
def test_an_automatic_writer_of_kafka_rows_is_refused_in_a_fork(
    tmp_path: Path, call: Callable[[Any], object]
) -> None:
    producer, log = FakeProducer(), log_at(tmp_path)
    writer = log.kafka_writer(producer, "orders", "w", admin=None, automatic=HOUR)
    assert code_in_fork(lambda: call(writer)) == FORKED
    writer.close()


def test_a_lock_that_another_thread_had_at_the_fork_is_not_waited_for(tmp_path: Path) -> None:
    writer = log_at(tmp_path).writer("w")
    is_held, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with writer._locked():
            is_held.set()
            is_over.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    # In the fork, no thread will ever release it.
    assert code_in_fork(writer.alive) == FORKED
    is_over.set()
    holder.join()


def test_what_a_fork_has_inherited_is_not_its_own_to_close(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    writers: list[Any] = [
        log.writer("a"),
        log.writer("b", flush=lambda: NumberPosition(1), automatic=HOUR),
        log.kafka_writer(FakeProducer(), "orders", "c", admin=None),
        log.kafka_writer(FakeProducer(), "orders", "d", admin=None, automatic=HOUR),
    ]
    for writer in writers:
        assert code_in_fork(writer.close) == ""
        writer.alive()
        writer.close()


def test_a_fork_may_open_a_writer_of_its_own(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    log.writer("parent").note_time(1, NumberPosition(1))
    opened = lambda: log.writer("child").note_time(2, NumberPosition(2))  # noqa: E731
    assert code_in_fork(opened) == ""
    assert {mark.writer for mark in log.read().marks} == {"parent", "child"}
