"""What both backlogs promise: each engine does, row for row, what its rule says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .clock import shown
from .told import Given, Told


def differences(name: str, engine: Told, rule: Told) -> Iterator[str]:
    """How what an engine told differs from what its rule alone tells: a sentence each."""
    if not engine.given:
        yield f"{name} gave out nothing."
    unlike = sorted((Counter(engine.given) - Counter(rule.given)).keys())
    missing = sorted((Counter(rule.given) - Counter(engine.given)).keys())
    if unlike:
        yield f"{name} gave out {len(unlike)} lines that it should not, first {_line(unlike[0])}."
    if missing:
        yield f"{name} did not give out {len(missing)} lines, first {_line(missing[0])}."
    if engine.left != rule.left:
        yield f"{name} has rows {engine.left} in open hours; they should be {rule.left}."
    for what in ("peak_state", "batches"):
        was, should = getattr(engine, what), getattr(rule, what)
        if was != should:
            yield f"{name}: {what} is {was}; it should be {should}."


def _line(given: Given) -> str:
    hour = shown(given.hour)
    return f"batch {given.batch}, {given.split}, hour {hour}: {given.rows} rows"
