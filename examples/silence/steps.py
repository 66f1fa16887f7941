"""The replay: what arrives in which step, and how long that takes.

Event times are seconds since 1970, a minute for each step; how fast the steps follow each
other is another matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Input = Literal["live", "quiet"]
INPUTS: tuple[Input, ...] = ("live", "quiet")

STEPS = 40
PAUSE = range(4, 7)
"""The steps in which the quiet input only pauses."""
SILENCE = range(10, STEPS)
"""The steps in which it is silent."""
BACK_IN = STEPS + 2
"""The step in which it comes back, when the last of the forty is over for good."""

ROWS = 20
"""Of an input, in one step."""
WINDOW = 60
"""A step's event time: a window of the count is a step."""
DELAY = 10
DELAY_TEXT = f"{DELAY} seconds"
BEGIN = 1_704_067_200
"""2024-01-01."""

STEP_SECONDS = 1.0
"""How long a step takes by the clock on the wall."""
IDLE_SECONDS = 8.0
"""Tidemark's ``idle_after``: twice what the pause takes, as a machine may be slow."""
IDLE_TEXT = f"{IDLE_SECONDS:g} seconds"


def rows_of(steps: Iterable[int]) -> list[int]:
    """The event times of all rows of these steps.

    >>> rows_of([1])[:3], len(rows_of(range(3)))
    ([1704067260, 1704067263, 1704067266], 60)
    """
    return [window_of(step) + row * WINDOW // ROWS for step in steps for row in range(ROWS)]


def window_of(step: int) -> int:
    """The beginning of a step's window."""
    return BEGIN + step * WINDOW


def step_of(second: int) -> int:
    """The step that an event time belongs to.

    >>> step_of(1704067266)
    1
    """
    return (second - BEGIN) // WINDOW


def arrives(source: Input, step: int) -> list[int]:
    """The event times of what an input brings in a step.

    >>> [len(arrives("quiet", step)) for step in (3, 4, 6, 7, 9, 10, 41, 42)]
    [20, 0, 0, 80, 20, 0, 0, 600]
    """
    if source == "live":
        return rows_of([step] if step < BACK_IN else [])
    if step == BACK_IN:
        return rows_of(SILENCE)
    if step in PAUSE or step >= SILENCE.start:
        return []
    return rows_of([*PAUSE, step] if step == PAUSE.stop else [step])
