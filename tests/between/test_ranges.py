"""Ranges between cuts and between times, without Spark: versions of a Delta table, and cuts that fit no reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.between import refused, rows_between
from support.marks import log_at, no_sync

from tidemark.marks import Cut, DeltaPosition, KafkaPosition, NumberPosition, SinkBatchPosition
from tidemark_marks._reading.ranges import DeltaRange, between

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def test_versions_of_a_delta_table_are_counted_behind_the_start() -> None:
    start, end = Cut(DeltaPosition("x", 3)), Cut(DeltaPosition("x", 7))
    assert between(start, end, ()) == DeltaRange("x", 4, 7)
    assert between(None, end, ()) == DeltaRange("x", 0, 7)
    assert between(end, end, ()) == DeltaRange("x", 8, 7)
    assert refused(lambda: between(end, start, ())) == "INVALID_OPTION"


def test_times_of_a_delta_table_begin_at_the_earliest_writer_that_has_gone_on(
    tmp_path: Path,
) -> None:
    log = log_at(tmp_path)
    eu, us = log.writer("eu"), log.writer("us")
    eu.note_time(100, DeltaPosition("x", 4), max_time=90)
    us.note_time(100, DeltaPosition("x", 2), max_time=90)
    # It has ended, so it has no rows in the range.
    with log.writer("old") as old:
        old.note_time(100, DeltaPosition("x", 1), max_time=90)
        old.end()
    eu.note_time(300, DeltaPosition("x", 9))
    us.note_time(300, DeltaPosition("x", 8))
    assert rows_between(log.read().marks, 95, 300) == (DeltaRange("x", 3, 9), [])
    assert rows_between(log.read().marks, None, 300)[0] == DeltaRange("x", 0, 9)
    assert rows_between(log.read().marks, 50, 300) == (DeltaRange("x", 0, 9), ["eu", "old", "us"])


def test_cuts_of_two_kinds_or_of_a_kind_without_a_reader_are_refused() -> None:
    kafka, number = Cut(KafkaPosition({})), Cut(NumberPosition(1))
    assert refused(lambda: between(kafka, number, ())) == "MARK_POSITION_MISMATCH"
    delta = Cut(DeltaPosition("x", 1)), Cut(DeltaPosition("y", 2))
    assert refused(lambda: between(*delta, ())) == "MARK_POSITION_MISMATCH"
    for cut in (number, Cut(SinkBatchPosition(3))):
        assert refused(lambda cut=cut: between(None, cut, ())) == "CUT_NOT_READABLE"
