"""The prepared data: one small file per stream and step, written once and kept.

Every run of every part and of both engines is fed the same files.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from datetime import datetime
from pathlib import Path

from . import data
from .clock import STEPS, start_of
from .held import Departed

STREAMS = ("departures", "weather")


def prepare(folder: Path) -> Path:
    """Makes the folder of prepared files, unless it exists; returns it."""
    if folder.is_dir():
        return folder
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    for stream, steps in (
        ("departures", data.departures()),
        ("weather", data.weather()),
    ):
        (unfinished / stream).mkdir(parents=True)
        for step, rows in steps.items():
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (unfinished / stream / _name(step)).write_text(text, encoding="utf-8")
    # Renamed when whole: a demo that was stopped half way leaves nothing half made.
    unfinished.rename(folder)
    return folder


def lay_out(prepared: Path, run: Path) -> None:
    """Lays out a run's folders: all files waiting, none live yet."""
    for stream in STREAMS:
        shutil.copytree(prepared / stream, run / "waiting" / stream)
        (run / "live" / stream).mkdir(parents=True)


def arrive(run: Path, stream: str, step: int) -> None:
    """Moves a step's file, if there is one, to where the query is reading, in one rename."""
    waiting = run / "waiting" / stream / _name(step)
    if waiting.exists():
        waiting.rename(run / "live" / stream / waiting.name)


def departed(prepared: Path) -> Departed:
    """What really departed, counted from the prepared files."""
    counts: dict[datetime, int] = defaultdict(int)
    for step in range(STEPS):
        for time in _times(prepared, "departures", "departure", step):
            counts[time.replace(minute=0)] += 1
    return Departed(newest(prepared, "departures", "departure"), dict(counts))


def newest(prepared: Path, stream: str, column: str) -> list[datetime | None]:
    """The newest event time of each step; None where the stream was silent."""
    return [max(_times(prepared, stream, column, step), default=None) for step in range(STEPS)]


def _times(prepared: Path, stream: str, column: str, step: int) -> list[datetime]:
    file = prepared / stream / _name(step)
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    return [datetime.fromisoformat(json.loads(line)[column]) for line in lines]


def _name(step: int) -> str:
    return f"{start_of(step):%Y-%m-%dT%H}.json"
