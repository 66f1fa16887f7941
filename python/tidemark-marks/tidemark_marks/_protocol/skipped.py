"""Lines and records that cannot be used: what the first of them were, and how many there are."""

from __future__ import annotations

from dataclasses import dataclass

MOST_KEPT = 1000
"""How many are kept: a user who may write the log could write millions of them."""


@dataclass(frozen=True)
class SkippedLine:
    """A line of a mark log that was left out.

    Attributes:
        file: The name of the file; in Kafka, the topic and its partition: `tidemark-marks-0`.
        line: The line's number in it, from 1; in Kafka, the offset.
        reason: `torn` (no line feed), `long` (over 1 MB), `checksum`, `json`, `version` (a later
            one), `writer` (of another writer or life than the file's name or the record's key
            says), `key` (of a record of no stream), or the name of the field that is wrong.
    """

    file: str
    line: int
    reason: str


class Skips:
    """Counts what is left out, and keeps the first 1,000.

    Attributes:
        count: How many there are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._first: list[SkippedLine] = []

    @property
    def first(self) -> tuple[SkippedLine, ...]:
        """The first of them, in the order in which they were found."""
        return tuple(self._first)

    def add(self, file: str, line: int, reason: str, count: int = 1) -> None:
        """Takes in one or several in a row, by the attributes of `SkippedLine`."""
        self.count += count
        for at in range(min(count, MOST_KEPT - len(self._first))):
            self._first.append(SkippedLine(file, line + at, reason))
