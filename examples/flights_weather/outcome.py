"""What came of one run, in a form that a worker can hand over as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Outcome:
    """Everything the table, the picture and the notes need to know of a run."""

    part: str
    silent: bool
    given: list[tuple[int, str, int]] = field(default_factory=list)
    """(step, hour, departures counted), in the order in which they came out."""
    rows: int = 0
    peak_state: int = 0
    late: int = 0
    batches: int = 0
    error: str | None = None
    watermarks: dict[str, list[str | None]] = field(default_factory=dict)
    """Per key ("" for a query's one and only), the watermark after each step."""
    report: str | None = None
    """Tidemark's own report, as text, at the end of the replay."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Outcome:
        document["given"] = [tuple(entry) for entry in document["given"]]
        return cls(**document)
