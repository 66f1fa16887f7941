"""What a worker tells the process that started it: its steps, and in the end its outcome."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .engines import Engine

STEPS = '{"steps"'
"""How a line of ours begins: the JVM shares the worker's stdout."""


def say_steps(steps: int) -> None:
    """Moves the progress bar on by so many steps."""
    # One write for the whole line, because several runs may report at the same time.
    sys.stdout.write(json.dumps({"steps": steps}) + "\n")
    sys.stdout.flush()


def steps_said(line: str) -> int:
    """The steps in a line of a worker's stdout; none in a line that is not ours.

    >>> steps_said('{"steps": 3}'), steps_said("SLF4J: 3")
    (3, 0)
    """
    return int(json.loads(line)["steps"]) if line.startswith(STEPS) else 0


def outcome_file(engine: Engine, folder: Path) -> Path:
    """Where a worker leaves its outcome."""
    return folder / f"{engine}.json"


def leave(outcome: Any, engine: Engine, folder: Path) -> None:
    """Leaves a worker's outcome for the process that started it."""
    text = json.dumps(outcome, indent=1)
    outcome_file(engine, folder).write_text(text, encoding="utf-8")
