"""What came of a backlog, in the same words whether an engine said it or the rule alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

Split = int | str
"""A part of the input, as its rows name it: a partition's number, an airport."""

Rows = Mapping[Split, int]


class Given(NamedTuple):
    """One line that came out: so many rows of this part in the hour that begins then."""

    batch: int
    hour: int
    split: Split
    rows: int


@dataclass
class Told:
    """What came out, what did not yet, and what it took."""

    given: list[Given] = field(default_factory=list)
    left: list[tuple[Split, int]] = field(default_factory=list)
    """Rows in the state when all had been read: of hours that are still open."""
    peak_state: int = 0
    """Rows of state after that batch which left the most."""
    batches: int = 0
    said_late: int | None = None
    """Rows dropped as late, as Spark's progress counts them; the rule alone says nothing."""

    def lost(self, read: Rows) -> dict[Split, int]:
        """The rows of each part that were read, and neither came out nor wait to."""
        lost = dict(read)
        for _, _, split, count in self.given:
            lost[split] -= count
        for split, count in self.left:
            lost[split] -= count
        return lost

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Told:
        given = [Given(*line) for line in document.pop("given")]
        left = [(split, count) for split, count in document.pop("left")]
        return cls(given=given, left=left, **document)
