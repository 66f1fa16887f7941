"""What came of one engine's run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Outcome:
    """Figures of each input, in order; the rows that were emitted are in a folder of their own."""

    millis: list[float] = field(default_factory=list)
    """All triggers of an input together."""
    cpu_millis: list[float] = field(default_factory=list)
    """CPU time of the tasks for the input. Other work on the machine decides less about it."""
    state: list[int] = field(default_factory=list)
    """Rows in state after it."""
    batches: list[int] = field(default_factory=list)
    """With rows or without."""
    rows: list[tuple[str, str, int, int]] = field(default_factory=list)
    """What was emitted: a group, and its flights."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Outcome:
        rows = [
            (origin, destination, minute, count)
            for origin, destination, minute, count in document.pop("rows")
        ]
        return cls(rows=rows, **document)
