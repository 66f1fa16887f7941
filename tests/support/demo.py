"""The demo's pure pieces. `examples` is not installed, so its folder is named here, once."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

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
