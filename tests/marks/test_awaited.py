"""Whom `is_complete` waits for, and what a mark log says of itself."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from support.marks import log_at, no_sync, put

from tidemark import TidemarkError
from tidemark.marks import AwaitedWriter, Marks, NumberPosition

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def names(log: Marks, time: int) -> list[str | None]:
    return [writer.writer for writer in log.waiting_for(time)]


def test_the_writers_that_have_not_noted_a_time_are_named_with_their_last_ones(
    tmp_path: Path,
) -> None:
    put(
        tmp_path,
        [
            {"w": "eu", "t": 200, "at": 7, "p": {"number": 1}},
            {"w": "us", "t": 100, "at": 8, "p": {"number": 1}},
            {"w": "us", "k": "alive", "at": 9},
            {"w": "asia", "k": "alive", "at": 3},
        ],
    )
    log = log_at(tmp_path, expected=["us", "oceania"])
    assert log.waiting_for(200) == (
        AwaitedWriter("asia", None, 3),
        AwaitedWriter("oceania", None, None),
        AwaitedWriter("us", 100, 9),
    )
    assert names(log, 201) == ["asia", "oceania", "us", "eu"]
    assert names(log, 100) == ["asia", "oceania"]


def test_nobody_is_waited_for_once_a_time_is_complete(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    eu, us = log.writer("eu"), log.writer("us")
    for number, (writer, time) in enumerate([(eu, 100), (us, 50), (us, 150), (eu, 200)], start=1):
        writer.note_time(time, NumberPosition(number))
        for asked in (40, 50, 100, 150, 200):
            assert (log.waiting_for(asked) == ()) == log.is_complete(asked)
    assert names(log, 200) == ["us"]
    # What was complete stays so for this object, also when a writer has come.
    log.writer("asia")
    assert names(log, 150) == [] and names(log, 151) == ["asia", "us"]


def test_a_log_without_a_writer_waits_for_a_first_one(tmp_path: Path) -> None:
    log = log_at(tmp_path / "_tidemark")
    assert not log.is_complete(100)
    (first,) = log.waiting_for(100)
    assert first == AwaitedWriter(None, None, None)
    assert str(first) == "a first writer: there is none yet"
    log.writer("eu").note_time(100, NumberPosition(1))
    assert log.waiting_for(100) == ()
    # By name, where names are known.
    assert names(log_at(tmp_path / "other", expected=["us", "eu"]), 100) == ["eu", "us"]


def test_a_writer_says_in_words_what_it_has_noted() -> None:
    assert str(AwaitedWriter("us", None, 9)) == "us, which has noted nothing"
    assert str(AwaitedWriter("us", 0, 9)) == "us, which has noted 1970-01-01T00:00:00.000Z"


def test_writers_that_are_left_out_are_not_waited_for(tmp_path: Path) -> None:
    put(
        tmp_path,
        [
            {"w": "dead", "t": 100, "at": 0, "p": {"number": 1}},
            {"w": "idle", "t": 100, "at": 60_000, "p": {"number": 1}},
            {"w": "idle", "k": "idle", "at": 60_000, "p": {"number": 1}},
            {"w": "eu", "t": 200, "at": 60_000, "p": {"number": 1}},
        ],
    )
    assert names(log_at(tmp_path, 60_000), 300) == ["dead", "eu"]
    log = log_at(tmp_path, 60_000, idle_after=timedelta(minutes=1))
    assert names(log, 300) == ["eu"]
    assert names(log, 200) == []


def test_a_writer_that_was_silent_while_another_was_not_is_not_waited_for(tmp_path: Path) -> None:
    now = [0]
    log = Marks(tmp_path, idle_after=timedelta(milliseconds=10), clock=lambda: now[0])
    log.writer("eu").note_time(100, NumberPosition(1))
    us = log.writer("us")
    us.note_time(200, NumberPosition(1))
    now[0] = 10
    assert names(log, 300) == ["eu", "us"]
    us.note_time(201, NumberPosition(1))
    assert names(log, 300) == ["us"]


def test_if_all_have_ended_before_the_time_all_are_named(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    for name, time in (("eu", 100), ("us", 200)):
        writer = log.writer(name)
        writer.note_time(time, NumberPosition(1))
        writer.end()
    assert names(log, 200) == []
    assert names(log, 201) == ["eu", "us"]


def test_a_time_behind_a_missing_mark_does_not_count(tmp_path: Path) -> None:
    put(tmp_path, [{"n": n, "t": 100 + n, "p": {"files": [str(n)]}} for n in (0, 1, 3)])
    assert log_at(tmp_path).waiting_for(103) == (AwaitedWriter("w", 101, 0),)


def test_what_is_not_a_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path).waiting_for("noon")
    assert error.value.code == "INVALID_OPTION"


def test_a_log_shows_where_it_is_and_whom_it_expects(tmp_path: Path) -> None:
    assert repr(Marks("/lake/_tidemark")) == "Marks('/lake/_tidemark')"
    log = Marks(
        "/lake/_tidemark",
        expected=["us", "eu"],
        only_expected=True,
        idle_after=timedelta(minutes=5),
    )
    assert repr(log) == (
        "Marks('/lake/_tidemark', expected=['eu', 'us'], only_expected=True, idle_after='0:05:00')"
    )
    pytest.importorskip("confluent_kafka")
    options = {"bootstrap.servers": "nowhere:1", "sasl.password": "hidden"}
    assert repr(Marks("kafka:marks/orders", options=options)) == "Marks('kafka:marks/orders')"
