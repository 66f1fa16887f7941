"""Ranges of Kafka records between cuts and between times, without Spark."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from support import marks_model
from support.between import SEEDS, complete_up_to, cut_at, growing, refused, rows_between, unless
from support.marks import log_at, no_sync
from support.marks_model import PARTITIONS, TOPIC

from tidemark import TidemarkError
from tidemark._mark_logs.kafka import subscribed
from tidemark.marks import Cut, KafkaPosition, Mark
from tidemark_marks._reading.ranges import KafkaRange, Range, between

TOPICS = (TOPIC,)

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def records(found: Range) -> list[tuple[int, int]]:
    assert isinstance(found, KafkaRange)
    assert all(found.starting[topic].keys() == ends.keys() for topic, ends in found.ending.items())
    return [
        (partition, offset)
        for partition, last in found.ending.get(TOPIC, {}).items()
        for offset in range(found.starting[TOPIC][partition], last)
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_adjacent_ranges_have_each_record_once_and_always_the_same(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    history = marks_model.run(tmp_path, seed, steps=100)
    read: list[tuple[int, int]] = []
    cuts: list[Cut | None] = [None]
    ranges: list[KafkaRange] = []
    for marks in growing([*history.marks, *history.fenced], chance):
        latest = complete_up_to(marks)
        if latest < 0 or chance.random() < 0.3:
            continue
        # The latest time may be that of a zombie, which does not count.
        end = unless(partial(cut_at, marks, chance.randint(0, latest)), "NO_CUT")
        if end is None:
            continue
        # The time may be below the last one, and marks that counted may have been fenced off.
        found = unless(partial(between, cuts[-1], end, TOPICS), "INVALID_OPTION")
        if found is None:
            continue
        assert isinstance(found, KafkaRange)
        cuts.append(Cut.from_text(end.text))
        ranges.append(found)
        read += records(found)
    assert len(read) == len(set(read))
    if isinstance(last := cuts[-1], Cut):
        assert isinstance(last.position, KafkaPosition)
        ends = last.position.offsets.get(TOPIC, {})
        assert set(read) == {(p, offset) for p, end in ends.items() for offset in range(end)}
    later_ranges = [between(start, end, TOPICS) for start, end in pairwise(cuts) if end is not None]
    assert later_ranges == ranges


@pytest.mark.parametrize("seed", SEEDS)
def test_a_range_of_times_has_every_record_of_these_times(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    history = marks_model.run(tmp_path, seed, steps=150)
    rows = history.stream.rows
    for _ in range(20):
        marks = without_some(history.marks, chance)
        latest = complete_up_to(marks)
        if latest < 1:
            continue
        end = chance.randint(1, latest)
        start = chance.choice([None, chance.randint(0, end)])
        found, unknown = rows_between(marks, start, end, TOPICS)
        lower = -1 if start is None else start
        wanted = {
            (partition, offset)
            for partition in range(PARTITIONS)
            for offset, time in enumerate(rows[partition])
            if lower < time <= end
        }
        assert wanted <= set(records(found))
        assert isinstance(found, KafkaRange)
        begins = any(
            offset == 0 for offsets in found.starting.values() for offset in offsets.values()
        )
        assert begins or not unknown


def without_some(marks: Sequence[Mark], chance: random.Random) -> list[Mark]:
    """Some of the marks. A life that fences off another one must stay known."""
    share = chance.choice([0.3, 0.8, 1])
    return [mark for mark in marks if mark.after or mark.number == 0 or chance.random() < share]


def test_a_range_of_times_often_begins_behind_the_beginning(tmp_path: Path) -> None:
    late_starts = 0
    for seed in SEEDS:
        history = marks_model.run(tmp_path / str(seed), seed, steps=150)
        latest = complete_up_to(history.marks)
        if latest > 0:
            found, _ = rows_between(history.marks, latest - 1, latest, TOPICS)
            assert isinstance(found, KafkaRange)
            late_starts += max(found.starting[TOPIC].values()) > 0
    assert late_starts > len(SEEDS) // 3


def test_a_writer_of_other_partitions_does_not_hold_back_the_start(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    eu, us = log.writer("eu"), log.writer("us")
    for time in (100, 200, 300):
        eu.note_time(time, KafkaPosition({"t": {0: time // 10}}), max_time=time - 1)
        us.note_time(time, KafkaPosition({"t": {1: time // 100}}), max_time=time - 1)
    found, unknown = rows_between(log.read().marks, 100, 300, ("t",))
    assert found == KafkaRange({"t": {0: 10, 1: 1}}, {"t": {0: 30, 1: 3}})
    assert unknown == []


def test_rows_of_the_same_millisecond_as_the_start_are_not_taken_for_read(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    eu = log.writer("eu")
    eu.note_time(50, KafkaPosition({"t": {0: 5}}), max_time=99)
    # The writer leaves out microseconds, so rows before this may be later than 100 ms.
    eu.note_time(100, KafkaPosition({"t": {0: 10}}), max_time=100)
    eu.note_time(200, KafkaPosition({"t": {0: 20}}))
    found, _ = rows_between(log.read().marks, 100, 200, ("t",))
    assert found == KafkaRange({"t": {0: 5}}, {"t": {0: 20}})


def test_a_largest_time_that_falls_again_is_not_believed(tmp_path: Path) -> None:
    writer = log_at(tmp_path).writer("eu")
    for time, offset, largest in [(50, 5, 40), (60, 6, 500), (70, 7, 45)]:
        writer.note_time(time, KafkaPosition({"t": {0: offset}}), max_time=largest)
    found, _ = rows_between(log_at(tmp_path).read().marks, 60, 70, ("t",))
    assert found == KafkaRange({"t": {0: 5}}, {"t": {0: 7}})


def test_a_writer_that_has_ended_before_the_start_does_not_hold_it_back(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    with log.writer("old") as old:
        old.note_time(40, KafkaPosition({"t": {0: 4}}), max_time=40)
        old.end()
    eu = log.writer("eu")
    eu.note_time(50, KafkaPosition({"t": {0: 9}}), max_time=45)
    eu.note_time(90, KafkaPosition({"t": {0: 20}}))
    found, _ = rows_between(log.read().marks, 50, 90, ("t",))
    assert found == KafkaRange({"t": {0: 9}}, {"t": {0: 20}})


def test_a_writer_without_a_largest_time_is_named_and_read_from_the_beginning(
    tmp_path: Path,
) -> None:
    log = log_at(tmp_path)
    log.writer("eu").note_time(300, KafkaPosition({"t": {0: 30}}), max_time=10)
    log.writer("us").note_time(300, KafkaPosition({"t": {0: 20, 1: 2}}))
    found, unknown = rows_between(log.read().marks, 100, 300, ("t",))
    assert found == KafkaRange({"t": {0: 0, 1: 0}}, {"t": {0: 30, 1: 2}})
    assert unknown == ["us"]


def test_only_the_topics_that_are_read_are_compared() -> None:
    start = Cut(KafkaPosition({"orders": {0: 5}, "returns": {0: 9}}))
    end = Cut(KafkaPosition({"orders": {0: 7, 1: 3}, "returns": {0: 8}}))
    assert between(start, end, ("orders",)) == KafkaRange(
        {"orders": {0: 5, 1: 0}}, {"orders": {0: 7, 1: 3}}
    )
    with pytest.raises(TidemarkError) as error:
        between(start, end, ("orders", "returns"))
    assert (error.value.code, error.value.parameters["value"]) == ("INVALID_OPTION", "8")
    assert "returns-0" in error.value.parameters["allowed"]
    # A partition that the end does not name is cut at its beginning.
    gone = Cut(KafkaPosition({"orders": {1: 3}}))
    assert refused(lambda: between(start, gone, ("orders",))) == "INVALID_OPTION"


def test_topics_are_named_by_the_job_and_not_by_the_log() -> None:
    assert subscribed({"Subscribe": " orders, returns"}) == ("orders", "returns")
    for options in ({}, {"subscribe": " , "}, {"subscribePattern": ".*"}):
        assert refused(lambda options=options: subscribed(options)) == "INVALID_OPTION"
