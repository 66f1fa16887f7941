"""Draws the vectors of `noted-drawn.json`, which Python and the engine both run.

`make golden` writes the file. The model says what is true, and Python's reader what a reader is told.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from support.marks_histories import READERS, Answer, File, Query, World, in_time_of, reader
from support.marks_partitions import PartitionsWorld, place_of
from support.marks_replay import Json
from support.marks_vectors import DRAWN
from tidemark.marks import FilesPosition
from tidemark_marks._protocol.position import encode_position
from tidemark_marks._protocol.times import length_millis

SEEDS = (*range(43), 150, 197, 239, 475, 982, 1018, 1395)
"""The last ones were told something else by the engine once, and so were some of the first."""

_STEPS = 40
_START = 3_600_000
_FLOOR = 2 * _START
"""Times are noted ahead of the clock, so that a reader with `max_ahead` believes only some of them."""

_READERS: tuple[Mapping[str, Any], ...] = (*READERS, {"max_ahead": timedelta(minutes=45)})


def draw(seed: int, folder: Path) -> Json:
    """A history as a vector. In every third one the rows are in the partitions of a topic."""
    is_kafka = seed % 3 == 2
    world = (PartitionsWorld if is_kafka else World)(folder, seed, start=_START, floor=_FLOOR)
    recorder = Recorder()
    queries: list[Query] = []
    with in_time_of(world), patch("os.fsync"):
        for step in range(_STEPS):
            world.step()
            if step % 10 == 5:
                options = world.chance.choice(_READERS)
                queries.append(Query(*reader(world, options)))
                recorder.open(options)
            if queries and (world.chance.random() < 0.2 or step == _STEPS - 1):
                recorder.look(world)
                for number, query in enumerate(queries):
                    recorder.asked(world, number, query.batch(world, dict(world.files)))
        # The files of a copy are as old as its copying, or as others were.
        copied = Query(world.copy("equal" if seed % 2 else "shuffled"), False, None)
        recorder.look(world, Path(copied.marks.location))
        recorder.open({})
        recorder.asked(world, len(queries), copied.batch(world, dict(world.files)))
    name = f"a drawn history of {'records' if is_kafka else 'files'}, seed {seed}"
    return {"id": f"nd-{seed:02}", "name": name} | recorder.vector


@dataclass
class Recorder:
    """Writes down what each step changes in the log, what is published, and what readers are told.

    Attributes:
        vector: That, as the fields of a vector.
    """

    vector: Json = field(default_factory=lambda: {"readers": [], "marks": [], "steps": []})
    _log: dict[str, tuple[int, str]] = field(default_factory=dict)
    _published: int = 0
    _now: int = 0
    _marks: dict[str, int] = field(default_factory=dict)
    _read: dict[int, frozenset[str]] = field(default_factory=dict)

    def look(self, world: World, folder: Path | None = None) -> None:
        """What the log and the rows are now, as far as that is new."""
        found = {
            file.name: (file.stat().st_mtime_ns // 1_000_000, file.read_text())
            for file in (folder or world.log).glob("*.marks")
        }
        log: Json = dict.fromkeys(self._log.keys() - found.keys())
        for name, (millis, text) in found.items():
            if self._log.get(name) != (millis, text):
                log[name] = [millis, *map(self._line, text.splitlines(keepends=True))]
        rows = [
            row(name, file)
            for name, file in list(world.files.items())[self._published :]
            if file.is_promised
        ]
        self._log, self._published = found, len(world.files)
        step: Json = {"log": dict(sorted(log.items())), "rows": rows}
        self._add(world, {key: value for key, value in step.items() if value})

    def open(self, options: Mapping[str, Any]) -> None:
        """A reader comes."""
        self.vector["readers"].append(
            {
                key: length_millis(key, value) if isinstance(value, timedelta) else value
                for key, value in options.items()
            }
        )

    def asked(self, world: World, number: int, answer: Answer) -> None:
        """What a reader was told."""
        position = answer.read
        if isinstance(position, FilesPosition):
            before, self._read[number] = self._read.get(number, frozenset()), position.files
            position = FilesPosition(position.files - before)
        step: Json = {"reader": number, "read": json.loads(encode_position(position))}
        step |= {"at_end": True} if answer.is_at_end else {}
        step |= {"lower": answer.window.lower_millis, "upper": answer.window.upper_millis}
        step |= {"excused": sorted(answer.excused), "done": sorted(answer.done)}
        self._add(world, {key: value for key, value in step.items() if value not in (None, [])})

    def _add(self, world: World, step: Json) -> None:
        """Adds a step, unless nothing has happened in it, with the clock if it has moved."""
        if step:
            moved = {} if world.now == self._now else {"now": world.now}
            self._now = world.now
            self.vector["steps"].append(moved | step)

    def _line(self, text: str) -> int | str:
        """A line: the number of its mark, or the text of one that is damaged."""
        if not text.endswith("\n"):
            return text
        if text not in self._marks:
            self._marks[text] = len(self._marks)
            mark = json.loads(text[9:])
            assert mark.pop("v") == 1
            self.vector["marks"].append(mark)
        return self._marks[text]


def row(name: str, file: File) -> list[str | int]:
    """A file with the times of its rows, or the partition, the offset and the time of a record."""
    where = place_of(name) if ":" in name else (name,)
    return [file.writer, *where, *file.times]


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def text_of(vectors: Iterable[Json]) -> str:
    """The file: a line for each vector."""
    head = {
        "format": 1,
        "title": "Drawn histories of a mark log: what each reader is told, and which rows are still to come.",
    }
    body = ",\n".join(compact(vector) for vector in vectors)
    suite = compact({"suite": "noted.drawn", "vectors": []}).removesuffix("]}")
    return f'{compact(head)[:-1]},\n"suites":[{suite}\n{body}\n]}}]}}\n'


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        vectors = [draw(seed, Path(made) / str(seed)) for seed in SEEDS]
    DRAWN.write_text(text_of(vectors), encoding="utf-8")


if __name__ == "__main__":
    main()
