"""What the example promises: the rows of a count in plain Python, and fewer batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .inputs import Group
from .outcome import Outcome


def differences(name: str, outcome: Outcome, counted: Counter[Group]) -> Iterator[str]:
    """How the rows that were emitted differ from the count: a sentence each."""
    emitted = Counter(
        {(origin, other, minute): flights for origin, other, minute, flights in outcome.rows}
    )
    if len(emitted) != len(outcome.rows):
        yield f"{name} emitted {len(outcome.rows) - len(emitted)} groups more than once."
    if wrong := {group for group in emitted | counted if emitted[group] != counted[group]}:
        first = min(wrong)
        yield (
            f"{name} emitted {len(wrong)} groups with a wrong count, first {first}: "
            f"{emitted[first]}, and it should be {counted[first]}."
        )
