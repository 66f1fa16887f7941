"""Mark logs for tests: written by hand, line by line, and read with a clock that stands still."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tidemark import TidemarkError
from tidemark.errors import error_code
from tidemark.marks import KafkaPosition, Mark, Marks

HOUR = 3_600_000


def line(fields: Mapping[str, Any] | str) -> str:
    """A line of a mark log, with the checksum that it should have."""
    text = fields if isinstance(fields, str) else json.dumps(fields, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def complete(marks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Marks with the fields that a test leaves out: the first life, and numbers without gaps."""
    counts: dict[tuple[Any, Any], int] = {}
    found = []
    for mark in marks:
        whole = {"v": 1, "w": "w", "e": 1, "k": "note", "at": 0, **mark}
        life = whole["w"], whole["e"]
        whole.setdefault("n", counts.get(life, 0))
        counts[life] = whole["n"] + 1
        found.append(whole)
    return found


def put(folder: Path, marks: Iterable[Mapping[str, Any]]) -> None:
    """Writes marks as their writers would: each life into a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    lives: dict[str, str] = {}
    for mark in complete(marks):
        name = f"{mark['w']}.{mark['e']}.0.marks"
        lives[name] = lives.get(name, "") + line(mark)
    for name, text in lives.items():
        (folder / name).write_text(text, encoding="utf-8")


def log_at(folder: Path, now: int = 0, **options: Any) -> Marks:
    """A log whose clock stands still."""
    return Marks(folder, clock=lambda: now, **options)


def kinds(log: Marks) -> list[tuple[str, int | None]]:
    return [(mark.kind, mark.time_millis) for mark in log.read().marks]


def noted(log: Marks) -> list[tuple[str, int | None, Any]]:
    """Kind, time and Kafka offsets of each mark."""

    def position(mark: Mark) -> Any:
        return mark.position.offsets if isinstance(mark.position, KafkaPosition) else None

    return [(mark.kind, mark.time_millis, position(mark)) for mark in log.read().marks]


def code_of(error: pytest.ExceptionInfo[TidemarkError]) -> str | None:
    return error_code(error.value)


def lower(log: Marks) -> int | None:
    watermark = log.watermark()
    return None if watermark is None else watermark.lower_millis


def refused(error: pytest.ExceptionInfo[TidemarkError]) -> tuple[str, str | None]:
    return error.value.code, error.value.parameters.get("writer")


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that write many marks: a disk takes milliseconds to sync, and no test cuts power."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
