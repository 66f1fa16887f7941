"""The inputs as files: one for each step in which an airport reports something."""

from __future__ import annotations

import json
from pathlib import Path

from .inputs import Step


def arrive(folder: Path, number: int, step: Step) -> None:
    """Writes what arrives in a step. A folder is made for each airport, whether it reports something or not."""
    for airport, times in step.items():
        (folder / airport).mkdir(parents=True, exist_ok=True)
        if times:
            rows = ({"at": time.isoformat(), "origin": airport} for time in times)
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / airport / f"{number:02}.json").write_text(text, encoding="utf-8")


def newest_step(folder: Path) -> int:
    """The last step in which an airport has reported something. -1: none."""
    return max((int(file.stem) for file in folder.glob("*.json")), default=-1)
