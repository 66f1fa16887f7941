"""What the replay promises: each rule's figures, exactly; and no window waits longer than said."""

from __future__ import annotations

from collections.abc import Iterator

from .outcome import Outcome
from .rules import expected
from .steps import IDLE_SECONDS
from .table import NAMES

LOOK_SECONDS = 0.2
"""How long a query may take to notice that there is something to do, between two batches."""


def broken(outcome: Outcome) -> Iterator[str]:
    """How a replay differs from what its rule says: a sentence each."""
    name, should = NAMES[outcome.rule], expected(outcome.rule)
    if outcome.figures != should:
        yield f"{name} came out as {outcome.figures}; by its rule it should be {should}."
    if outcome.rule != "idle":
        return
    lost = outcome.figures.lost_after_pause + outcome.figures.lost_after_silence
    if outcome.said_late != lost:
        yield f"{name} counted {outcome.said_late} late rows; {lost} were lost."
    longest = max(outcome.held, default=0.0)
    bound = IDLE_SECONDS + outcome.longest_batch + LOOK_SECONDS
    if longest > bound:
        yield f"{name} held a window back for {longest:.1f} s; it may do so for {bound:.1f} s."
