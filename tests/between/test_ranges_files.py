"""Ranges of files between cuts and between times, without Spark, and the names of files that are read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from support.between import SEEDS, by_writer, complete_up_to, cut_at, refused, rows_between, unless
from support.marks import log_at, no_sync
from support.raising import raising

from tidemark import TidemarkError
from tidemark._mark_logs.files import path_of
from tidemark.marks import Cut, FilesPosition, Mark, Marks
from tidemark_marks._reading.ranges import FilesRange, between

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


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
        writer.end()
    eu = log.writer("eu")
    eu.note_time(1, files=["b"])
    start = log.cut_at(1)
    eu.note_time(2, files=["c"])
    kept = [mark for mark in log.read().marks if mark.writer == "eu"]
    with raising("CUT_EXPIRED"):
        between(start, cut_at(kept, 2), ())
    # A caller who knows that the writer had ended leaves it out.
    start = Cut(
        start.position, {name: chain for name, chain in start.chains.items() if name != "w"}
    )
    assert between(start, cut_at(kept, 2), ()) == FilesRange(("c",))


HOSTILE = [
    "/etc/passwd", "../secret.json", "a/../../b", "a//b", "a/", "./a", "s3://bucket/a", "file:///a",
    ".hidden", "_tidemark/w.0.0.marks", "a/_SUCCESS", "a\0b", "x._COPYING_",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_leads_elsewhere_or_would_not_be_read_is_refused(name: str) -> None:
    with pytest.raises(TidemarkError) as error:
        path_of("/lake/orders", name)
    assert error.value.code == "CUT_NOT_READABLE" and repr(name) in str(error.value)


def test_a_name_is_never_a_pattern_and_never_a_scheme() -> None:
    assert path_of("/lake/orders/", "day=1/a.json") == "/lake/orders/day=1/a.json"
    assert path_of("/lake", "*.json") == r"/lake/\*.json"
    assert path_of("/lake", "{a,b}[c]?\\") == r"/lake/\{a,b\}\[c\]\?\\"
    assert path_of("/lake", "s3:a") == "/lake/s3:a"
    assert path_of("/lake", "_day=1/a") == "/lake/_day=1/a"
