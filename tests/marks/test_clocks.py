"""Hosts with wrong clocks: the store decides who has been silent, as all writers share its clock."""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from support.marks import no_sync

from tidemark.marks import Marks, NumberPosition
from tidemark_marks._kafka.topic import Record
from tidemark_marks._kafka.topic_marks import TopicMarks
from tidemark_marks._reading.rules import histories, stalled

pytestmark = pytest.mark.usefixtures(no_sync.__name__)

MINUTE = 60_000
SLOW = -10 * MINUTE
FAST = 10 * MINUTE


def on_a_host(folder: Path, wrong_by: int) -> Marks:
    """The log as a host with such a clock writes it."""
    return Marks(folder, clock=lambda: time.time_ns() // 1_000_000 + wrong_by)


@pytest.mark.parametrize("wrong_by", [SLOW, FAST])
def test_no_writer_is_left_out_for_the_clock_of_a_host(tmp_path: Path, wrong_by: int) -> None:
    on_a_host(tmp_path, 0).writer("eu").note_time(20 * MINUTE, NumberPosition(1))
    on_a_host(tmp_path, wrong_by).writer("us").note_time(5 * MINUTE, NumberPosition(2))
    log = Marks(tmp_path, idle_after=timedelta(minutes=5))
    assert not log.is_complete(10 * MINUTE)
    assert log.window(NumberPosition(2)).lower_millis == 5 * MINUTE
    assert [mark.written_millis for mark in log.read().marks if mark.kind == "note"]


def test_a_writer_whose_file_is_old_is_left_out(tmp_path: Path) -> None:
    on_a_host(tmp_path, 0).writer("eu").note_time(20 * MINUTE, NumberPosition(1))
    on_a_host(tmp_path, FAST).writer("us").note_time(5 * MINUTE, NumberPosition(2))
    old = time.time() - 600
    for file in tmp_path.glob("us.*"):
        os.utime(file, (old, old))
    log = Marks(tmp_path, idle_after=timedelta(minutes=5))
    assert log.is_complete(10 * MINUTE)
    assert log.window(NumberPosition(2)).lower_millis == 20 * MINUTE


def test_records_are_dated_by_the_broker_if_the_topic_has_its_clock() -> None:
    marks = TopicMarks("marks", "orders")
    fields = {"v": 1, "w": "w", "e": 1, "n": 0, "k": "note", "t": 1, "at": 5, "p": {"number": 1}}
    marks.add(Record(0, 0, b"orders\0w", json.dumps(fields).encode(), appended_millis=12345))
    assert histories(marks.contents(), None)["w"].last_active() == 12345


@pytest.mark.parametrize("by_broker", [True, False])
def test_a_slow_host_does_not_stall_a_writer_in_a_topic(by_broker: bool) -> None:
    marks = TopicMarks("marks", "orders")
    for number in range(20):
        for offset, (writer, wrong_by) in enumerate((("eu", 0), ("us", SLOW))):
            at = (number + 20) * MINUTE
            fields = {"v": 1, "w": writer, "e": 1, "n": number, "k": "note", "t": number}
            fields |= {"at": at + wrong_by, "p": {"number": number}}
            record = json.dumps(fields).encode()
            appended = at if by_broker else None
            marks.add(
                Record(0, 2 * number + offset, f"orders\0{writer}".encode(), record, appended)
            )
    found = histories(marks.contents(), None)
    assert (found["us"].last_active() is None) is not by_broker
    assert stalled(found, 5 * MINUTE, 60 * MINUTE) == set()
