"""What holds for any history: no row is late, never below Pravega, and any mark may be lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support import marks_model
from support.marks import log_at, no_sync
from support.marks_model import PARTITIONS, TOPIC, History, position
from support.pravega import PravegaWindows, Segments

from tidemark.marks import FilesPosition, KafkaPosition, Mark, TimeWindow
from tidemark_marks._protocol.position import Position
from tidemark_marks._reading.aggregation import Aggregate, StreamMarks
from tidemark_marks._reading.log import Contents
from tidemark_marks._reading.rules import histories
from tidemark_marks._reading.window import window_at

SEEDS = range(25)

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def window(marks: list[Mark], read: Position) -> TimeWindow:
    found = histories(Contents(tuple(marks), (), ()), None)
    return window_at(found, read, (), None, 0, is_at_end=False)


def positions(history: History, chance: random.Random) -> list[list[int]]:
    """Positions of a reader that only moves on, from the beginning to the end."""
    reads = [[0] * PARTITIONS]
    ends = history.stream.ends()
    while reads[-1] != ends:
        steps = [chance.choice([0, 1, 3]) for _ in range(PARTITIONS)]
        reads.append(
            [min(n + step, end) for n, step, end in zip(reads[-1], steps, ends, strict=True)]
        )
    return reads


@pytest.mark.parametrize("seed", SEEDS)
def test_no_row_behind_a_position_is_late_by_its_window(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    history = marks_model.run(tmp_path, seed)
    written = [*history.marks, *history.fenced]
    before: int | None = None
    for read in positions(history, chance):
        lower = window(written, position(read)).lower_millis
        if lower is not None:
            assert history.stream.late(read, lower) == []
        assert before is None or (lower is not None and lower >= before)
        before = lower
        # The order in which marks come does not matter, and neither does finding one twice.
        shuffled = [*written, *chance.sample(written, len(written) // 2)]
        chance.shuffle(shuffled)
        assert window(shuffled, position(read)).lower_millis == lower


@pytest.mark.parametrize("seed", SEEDS)
def test_any_loss_of_marks_is_sound_and_never_raises_the_window(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    history = marks_model.run(tmp_path, seed)
    written = [*history.marks, *history.fenced]
    for read in positions(history, chance):
        whole = window(written, position(read)).lower_millis
        for _ in range(5):
            kept = without_some(written, chance)
            lower = window(kept, position(read)).lower_millis
            assert lower is None or (whole is not None and lower <= whole)


def without_some(marks: list[Mark], chance: random.Random) -> list[Mark]:
    """Some of the marks, but one at least of every life that fences off another.

    A reader cannot know of a life without any marks left.
    """
    share = chance.random()
    kept = [mark for mark in marks if chance.random() < share]
    for writer, epoch in {(mark.writer, mark.epoch) for mark in marks}:
        life = [mark for mark in marks if (mark.writer, mark.epoch) == (writer, epoch)]
        if not any(mark in kept for mark in life if mark.number < 1000):
            kept.append(chance.choice([mark for mark in life if mark.number < 1000]))
    return kept


@pytest.mark.parametrize("seed", SEEDS)
def test_the_window_is_never_below_that_of_pravega(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    history = marks_model.run(tmp_path, seed, steps=80)
    parts = {n: (n / PARTITIONS, (n + 1) / PARTITIONS) for n in range(PARTITIONS)}
    segments = Segments(parts, list(parts))
    emitted: list[Aggregate[dict[int, int]]] = []
    stream = StreamMarks(segments.cut)
    noted = [mark for mark in history.marks if mark.kind == "note"]
    # Writers note side by side: any order that keeps each writer's own.
    chance.shuffle(noted)
    queues = {mark.writer: sorted(m for m in noted if m.writer == mark.writer) for mark in noted}
    # Pravega knows a writer from its first mark, and all of them have noted before its first run.
    for mark in [queue.pop(0) for queue in queues.values()] + [
        queues[mark.writer].pop(0) for mark in noted if queues[mark.writer]
    ]:
        at = mark.position
        assert isinstance(at, KafkaPosition) and mark.time_millis is not None
        assert stream.note(mark.writer, mark.time_millis, dict(at.offsets[TOPIC]))
        silent = {mark.writer for mark in history.marks} - stream.writers
        if not silent and chance.random() < 0.5:
            run = stream.run()
            emitted += [run] if run else []
    for read in positions(history, chance):
        reader = PravegaWindows(segments, emitted)
        reader.advance(dict(enumerate(read)))
        theirs = reader.window()[0]
        ours = window(history.marks, position(read)).lower_millis
        assert theirs is None or (ours is not None and ours >= theirs)


@pytest.mark.parametrize("seed", range(20))
def test_files_are_complete_up_to_the_window_whatever_is_lost(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    log = log_at(tmp_path)
    rows: dict[str, int] = {}
    floors = dict.fromkeys(["a", "b"], 0)
    writers = {name: log.writer(name) for name in floors}
    for step in range(40):
        name = chance.choice(["a", "b"])
        if chance.random() < 0.1:
            writers[name] = log.writer(name)
        finished = [f"{name}/{step}-{n}" for n in range(chance.randint(0, 2))]
        rows |= {file: floors[name] + chance.randint(1, 50) for file in finished}
        time = floors[name] + chance.randint(0, 60)
        # Its later rows are later than the time that it notes.
        writers[name].note_time(time, files=finished)
        floors[name] = time
    marks = list(log.read().marks)
    firsts = {mark.writer: mark for mark in reversed(marks)}
    for _ in range(60):
        read = frozenset(file for file in rows if chance.random() < chance.choice([0.5, 0.9, 1]))
        lost = chance.choice([0, 0, 1, 3])
        kept = [mark for mark in marks if mark not in chance.sample(marks, lost)]
        # What is missing at the beginning was purged long after it was read.
        kept = [*firsts.values(), *kept]
        lower = window(kept, FilesPosition(read)).lower_millis
        if lower is not None:
            assert [file for file, time in rows.items() if time <= lower and file not in read] == []
        whole = window(marks, FilesPosition(frozenset(rows))).lower_millis
        assert lower is None or (whole is not None and lower <= whole)
