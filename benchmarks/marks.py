"""Mark logs: how long noting a time takes, and reading a log of a million marks. Needs no Spark.

Run by `python benchmarks --only marks`, before what they cost a query. Noting depends on the disk: each mark is synced.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from statistics import quantiles

from tidemark.marks import KafkaPosition, Mark, Marks
from tidemark_marks._protocol.names import FileName
from tidemark_marks._protocol.position import encode_position
from tidemark_marks._protocol.text import encode

WRITERS = 10
EPOCH = 1_795_404_000_000
"""2026-11-23T03:20:00Z in ms."""


def marks(folder: Path, notes: int, million: float) -> None:
    """Prints the times of notes in a folder, and of reading this many million marks there."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        _notes(Path(made) / "notes", notes)
        _reads(Path(made) / "reads", int(million * 1_000_000))


def _notes(folder: Path, notes: int) -> None:
    taken = []
    with Marks(folder, max_ahead=None).writer("gateway-7") as writer:
        began = time.perf_counter()
        for number in range(notes):
            before = time.perf_counter()
            writer.note_time(EPOCH + number, position(number))
            taken.append(time.perf_counter() - before)
        seconds = time.perf_counter() - began
    percentiles = quantiles(taken, n=100)
    shown = ", ".join(f"p{p} {percentiles[p - 1] * 1000:.2f} ms" for p in (50, 90, 99))
    print(f"note_time, {notes} times: {shown}; {notes / seconds:,.0f} a second")


def _reads(folder: Path, count: int) -> None:
    each = count // WRITERS
    folder.mkdir()
    for number in range(WRITERS):
        name, at = f"gateway-{number}", EPOCH
        write_marks(
            folder,
            (
                Mark(name, EPOCH, n, "note", at + n * 1000, at + n * 1000, position_text(n))
                for n in range(each)
            ),
        )
    log = Marks(folder, max_ahead=None)
    half = position(each // 2)
    timed(f"read(), {count:,} marks of {WRITERS} writers", log.read)
    timed("watermark()", log.watermark)
    timed("cut_at(half of it)", lambda: log.cut_at(EPOCH + each * 500))
    timed("window(half of it)", lambda: log.window(half))


def write_marks(folder: Path, marks: Iterable[Mark]) -> None:
    """Writes marks of one life, with numbers from 0, into sealed files."""
    left = iter(marks)
    while some := list(islice(left, 256)):
        first, last = some[0], some[-1]
        name = FileName(first.writer, first.epoch, first=first.number, last=last.number).text
        (folder / name).write_bytes(b"".join(map(encode, some)))


def position(number: int) -> KafkaPosition:
    """Where a writer is when it writes its mark of this number."""
    return KafkaPosition({"orders": {0: 23 + number * 7, 1: 42 + number * 3}})


def position_text(number: int) -> str:
    """The same as a mark has it."""
    return encode_position(position(number))


def timed(what: str, call: Callable[[], object]) -> None:
    """Prints how long a call takes."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{what}: {wall:.2f} s, {processor:.2f} s of processor time")
