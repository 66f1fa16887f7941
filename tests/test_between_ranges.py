"""Ranges between cuts and between times, without Spark: what they have, and what they refuse."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest
from support import marks_model
from support.marks import log_at, no_sync
from support.marks_model import PARTITIONS, TOPIC

from tidemark import (
    Cut,
    DeltaPosition,
    FilesPosition,
    KafkaPosition,
    Mark,
    Marks,
    NumberPosition,
    SinkPosition,
    TidemarkError,
)
from tidemark._marks.cutting import ends_at, joined_cut
from tidemark._marks.log import Contents
from tidemark._marks.ranges import (
    DeltaRange,
    FilesRange,
    KafkaRange,
    Range,
    between,
    between_times,
)
from tidemark._marks.rules import History, histories
from tidemark._ranges import _path, subscribed

SEEDS = range(12)
TOPICS = (TOPIC,)

T = TypeVar("T")

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def known(marks: Sequence[Mark]) -> dict[str, History]:
    return histories(Contents(tuple(marks), (), ()), None)


def cut_at(marks: Sequence[Mark], millis: int) -> Cut:
    found = known(marks)
    return joined_cut(found, ends_at(found, (), (), millis), millis)


def rows_between(
    marks: Sequence[Mark], start_millis: int | None, end_millis: int, topics: tuple[str, ...] = ()
) -> tuple[Range, list[str]]:
    found = known(marks)
    ends = ends_at(found, (), (), end_millis)
    cut = joined_cut(found, ends, end_millis)
    start = None if start_millis is None else start_millis * 1000
    return between_times(found, ends, cut, start, topics)


def refused(ask: Callable[[], object]) -> str:
    with pytest.raises(TidemarkError) as error:
        ask()
    return error.value.code


def unless(ask: Callable[[], T], *codes: str) -> T | None:
    """The answer; None if it is refused with one of the codes."""
    try:
        return ask()
    except TidemarkError as error:
        if error.code not in codes:
            raise
        return None


def by_writer(marks: Sequence[Mark]) -> dict[str, list[Mark]]:
    ordered = sorted(marks, key=lambda mark: mark[:3])
    return {writer: list(some) for writer, some in groupby(ordered, key=lambda mark: mark.writer)}


def growing(marks: Sequence[Mark], chance: random.Random) -> Iterator[list[Mark]]:
    """A log as readers find it one after another: each writer's marks come in order."""
    writers = by_writer(marks)
    counts = dict.fromkeys(writers, 1)
    while any(counts[writer] < len(some) for writer, some in writers.items()):
        for writer, some in writers.items():
            counts[writer] = min(counts[writer] + chance.choice([0, 1, 1, 4]), len(some))
        yield [mark for writer, some in writers.items() for mark in some[: counts[writer]]]


def complete_up_to(marks: Sequence[Mark]) -> int:
    """The largest time that all writers have noted; below all times if one has noted none."""
    noted = (
        max((mark.time_millis for mark in some if mark.time_millis is not None), default=-1)
        for some in by_writer(marks).values()
    )
    return min(noted)


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
    again = [between(start, end, TOPICS) for start, end in pairwise(cuts) if end is not None]
    assert again == ranges


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
        begins = any(offset == 0 for one in found.starting.values() for offset in one.values())
        assert begins or not unknown


def without_some(marks: Sequence[Mark], chance: random.Random) -> list[Mark]:
    """Some of the marks. Whoever fences off another life must be known."""
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


class Files(NamedTuple):
    """A log of writers of files that was read while it grew, and the times in each file."""

    logs: list[list[Mark]]
    times: dict[str, list[int]]


def files(folder: Path, seed: int) -> Files:
    chance = random.Random(seed)
    now = [0]
    log = Marks(folder, clock=lambda: now[0])
    names = ["a", "b", "late"]
    writers = {name: log.writer(name) for name in names[:2]}
    floors, largest = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    times: dict[str, list[int]] = {}
    for step in range(60):
        now[0] = step
        name = chance.choice(names[: 2 + (step > 20)])
        if name not in writers or chance.random() < 0.1:
            writers[name] = log.writer(name)
        finished = [f"{name}/{step}-{n}" for n in range(chance.randint(0, 2))]
        for file in finished:
            some = range(chance.randint(1, 3))
            times[file] = [floors[name] + chance.randint(1, 50) for _ in some]
            largest[name] = max(largest[name], *times[file])
        floors[name] += chance.randint(0, 40)
        knows = chance.random() < 0.7
        writers[name].note_time(
            floors[name], files=finished, max_time=largest[name] if knows else None
        )
    marks = log.read().marks
    logs = [[mark for mark in marks if mark.written_millis <= step] for step in range(60)]
    return Files(logs, times)


def purged(marks: Sequence[Mark], counts: dict[str, int]) -> list[Mark]:
    """A log without the first marks of its writers."""
    return [mark for writer, some in by_writer(marks).items() for mark in some[counts[writer] :]]


def listed(marks: Sequence[Mark], cut: Cut) -> set[str]:
    """The files of all marks that a cut has, also of those that were purged before it."""
    return {
        file
        for mark in marks
        if mark.writer in cut.chains and mark.place <= cut.chains[mark.writer].last
        if isinstance(position := mark.position, FilesPosition)
        for file in position.files
    }


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("much", [0, 3, 30], ids=["nothing purged", "some", "much"])
def test_adjacent_ranges_have_each_file_once_or_say_that_marks_are_gone(
    tmp_path: Path, seed: int, much: int
) -> None:
    chance = random.Random(seed)
    counts = dict.fromkeys(["a", "b", "late"], 0)
    read: list[str] = []
    last: Cut | None = None
    for marks in files(tmp_path, seed).logs:
        for writer, some in by_writer(marks).items():
            # A writer's last mark is never purged.
            more = chance.randint(0, much) if chance.random() < 0.3 else 0
            counts[writer] = max(counts[writer], min(counts[writer] + more, len(some) - 3))
        if chance.random() < 0.7:
            continue
        kept = purged(marks, counts)
        latest = complete_up_to(kept)
        if latest < 0:
            continue
        end = cut_at(kept, chance.randint(latest // 2, latest))
        codes = ("CUT_EXPIRED", "INVALID_OPTION") if much else ("INVALID_OPTION",)
        found = unless(partial(between, last, Cut.from_text(end.text), ()), *codes)
        if found is None:
            continue
        assert isinstance(found, FilesRange)
        read += found.files
        last = end
        assert len(read) == len(set(read))
        assert set(read) == listed(marks, end)
    assert read or much


@pytest.mark.parametrize("seed", SEEDS)
def test_a_range_of_times_has_all_its_files_or_says_that_marks_are_gone(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    log = files(tmp_path, seed)
    answered = left_out = 0
    for marks in log.logs[20::4]:
        counts = {
            writer: chance.choice([0, 0, chance.randint(0, len(some) - 1)])
            for writer, some in by_writer(marks).items()
        }
        kept = purged(marks, counts)
        latest = complete_up_to(kept)
        if latest < 0:
            continue
        end = chance.randint(latest // 2, latest)
        start = chance.choice([None, chance.randint(0, end)])
        codes = ("CUT_EXPIRED",) if any(counts.values()) else ()
        answer = unless(partial(rows_between, kept, start, end), *codes)
        if answer is None:
            continue
        found, _ = answer
        assert isinstance(found, FilesRange)
        lower = -1 if start is None else start
        finished = {
            file
            for mark in marks
            if isinstance(position := mark.position, FilesPosition)
            for file in position.files
        }
        wanted = {file for file in finished if any(lower < t <= end for t in log.times[file])}
        assert wanted <= set(found.files) <= finished
        answered += 1
        left_out += len(finished) > len(found.files)
    assert answered and left_out


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
    eu.note_time(300, DeltaPosition("x", 9))
    us.note_time(300, DeltaPosition("x", 8))
    assert rows_between(log.read().marks, 95, 300) == (DeltaRange("x", 3, 9), [])
    assert rows_between(log.read().marks, None, 300)[0] == DeltaRange("x", 0, 9)
    assert rows_between(log.read().marks, 50, 300) == (DeltaRange("x", 0, 9), ["eu", "old", "us"])


def test_only_the_topics_that_are_read_are_compared() -> None:
    start = Cut(KafkaPosition({"orders": {0: 5}, "returns": {0: 9}}))
    end = Cut(KafkaPosition({"orders": {0: 7, 1: 3}, "returns": {0: 8}}))
    assert between(start, end, ("orders",)) == KafkaRange(
        {"orders": {0: 5, 1: 0}}, {"orders": {0: 7, 1: 3}}
    )
    with pytest.raises(TidemarkError, match="returns-0 goes back from 9 to 8") as error:
        between(start, end, ("orders", "returns"))
    assert error.value.code == "INVALID_OPTION"
    # A partition that the end does not name is cut at its beginning.
    gone = Cut(KafkaPosition({"orders": {1: 3}}))
    assert refused(lambda: between(start, gone, ("orders",))) == "INVALID_OPTION"


def test_cuts_of_two_kinds_or_of_a_kind_without_a_reader_are_refused() -> None:
    kafka, number = Cut(KafkaPosition({})), Cut(NumberPosition(1))
    assert refused(lambda: between(kafka, number, ())) == "MARK_POSITION_MISMATCH"
    delta = Cut(DeltaPosition("x", 1)), Cut(DeltaPosition("y", 2))
    assert refused(lambda: between(*delta, ())) == "MARK_POSITION_MISMATCH"
    for cut in (number, Cut(SinkPosition(3))):
        assert refused(lambda cut=cut: between(None, cut, ())) == "CUT_NOT_READABLE"


def test_a_cut_of_files_keeps_its_chains_in_its_text(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")
    writer.note_time(1, files=["a"])
    writer.note_time(2, files=["b"])
    cut = log.cut_at(1)
    assert cut.text == '{"files":["a"],"chains":{"w":{"after":[0,-1],"last":[0,1]}}}'
    assert Cut.from_text(cut.text) == cut
    assert between(Cut.from_text(cut.text), log.cut_at(2), ()) == FilesRange(("b",))
    for chains in ("7", '{"w":7}', '{"w":{"after":[0,-1]}}', '{"w":{"after":[0,-2],"last":[0,1]}}'):
        text = f'{{"files":["a"],"chains":{chains}}}'
        assert refused(lambda text=text: Cut.from_text(text)) == "INVALID_OPTION"


def test_cuts_of_files_that_do_not_show_their_marks_are_refused(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    log.writer("w").note_time(1, files=["a"])
    watermark = log.watermark()
    assert watermark is not None
    for cut in (watermark.cut, Cut(FilesPosition(frozenset("a")))):
        assert refused(lambda cut=cut: between(None, cut, ())) == "CUT_NOT_READABLE"


def test_a_writer_whose_marks_were_all_purged_is_named(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    with log.writer("w") as writer:
        writer.note_time(1, files=["a"])
    eu = log.writer("eu")
    eu.note_time(1, files=["b"])
    start = log.cut_at(1)
    eu.note_time(2, files=["c"])
    kept = [mark for mark in log.read().marks if mark.writer == "eu"]
    with pytest.raises(TidemarkError, match="all marks of writer 'w' were purged") as error:
        between(start, cut_at(kept, 2), ())
    assert error.value.code == "CUT_EXPIRED"
    # Whoever knows that the writer had ended leaves it out.
    start = Cut(start.position, {name: one for name, one in start.chains.items() if name != "w"})
    assert between(start, cut_at(kept, 2), ()) == FilesRange(("c",))


HOSTILE = [
    "/etc/passwd", "../secret.json", "a/../../b", "a//b", "a/", "./a", "s3://bucket/a", "file:///a",
    ".hidden", "_tidemark/w.0.0.marks", "a/_SUCCESS", "a\0b", "x._COPYING_",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_leads_elsewhere_or_would_not_be_read_is_refused(name: str) -> None:
    with pytest.raises(TidemarkError) as error:
        _path("/lake/orders", name)
    assert error.value.code == "CUT_NOT_READABLE" and repr(name) in str(error.value)


def test_a_name_is_never_a_pattern_and_never_a_scheme() -> None:
    assert _path("/lake/orders/", "day=1/a.json") == "/lake/orders/day=1/a.json"
    assert _path("/lake", "*.json") == r"/lake/\*.json"
    assert _path("/lake", "{a,b}[c]?\\") == r"/lake/\{a,b\}\[c\]\?\\"
    assert _path("/lake", "s3:a") == "/lake/s3:a"
    assert _path("/lake", "_day=1/a") == "/lake/_day=1/a"


def test_topics_are_named_by_the_job_and_not_by_the_log() -> None:
    assert subscribed({"Subscribe": " orders, returns"}) == ("orders", "returns")
    for options in ({}, {"subscribe": " , "}, {"subscribePattern": ".*"}):
        assert refused(lambda options=options: subscribed(options)) == "INVALID_OPTION"
