"""What came of one replay, in a form that a worker can hand over as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .rules import Figures, Rule


@dataclass
class Outcome:
    """All that the table and the promise have to know."""

    rule: Rule
    figures: Figures
    held: list[float]
    """Of each window that is out: seconds from when it could be out to when it was."""
    longest_batch: float
    """In seconds, of those from the silence on."""
    peak_state: int
    batches: int
    said_late: int
    """Rows dropped as late, by Spark's own progress or, for Tidemark, by `late_rows`."""
    report: str | None = None
    """Tidemark's own report, as text, while the input was silent."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Outcome:
        return cls(**{**document, "figures": Figures(*document["figures"])})
