"""The parts of the demo that need no Spark."""

from __future__ import annotations

from flights_weather import (
    clock,
    data,
    files,
    held,
    outcome,
    picture,
    promise,
    runs,
    table,
    watching,
)

__all__ = [
    "clock",
    "data",
    "files",
    "held",
    "outcome",
    "picture",
    "promise",
    "runs",
    "table",
    "watching",
]
