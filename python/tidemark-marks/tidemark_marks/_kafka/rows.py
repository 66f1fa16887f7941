"""The rows that a writer has handed to a Kafka producer, and how far they have arrived."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidemark_marks._protocol.position import KafkaPosition

Partition = tuple[str, int]


@dataclass(frozen=True)
class Failures:
    """Rows whose delivery has failed.

    Attributes:
        count: How many rows.
        first: Why the first of them failed.
    """

    count: int
    first: str


@dataclass
class Rows:
    """Counts rows in and out. Its lock is held for moments: nothing is called under it.

    Attributes:
        offsets: For each topic and partition the offset behind the last row that has arrived.
    """

    offsets: dict[str, dict[int, int]] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    # Those that are not reported yet, by their numbers, and whether the producer has them.
    _waiting: dict[int, bool] = field(default_factory=dict)
    _next: int = 0
    # Of all rows ever: how many have failed, and how many of these were accepted.
    _failed: int = 0
    _accepted: int = 0
    # Why the first row failed after the last time that failures were accepted.
    _reason: str = ""
    # For partitions with a row at an offset that is unknown: the first row that comes after it.
    _lost_offsets: dict[Partition, int] = field(default_factory=dict)

    def add(self) -> int:
        """Counts a row that is about to be handed over, and returns its number."""
        with self._changed:
            number = self._next
            self._next += 1
            self._waiting[number] = False
            return number

    def taken(self, number: int) -> None:
        """Notes that the producer has a row, which may have been reported before."""
        with self._changed:
            if number in self._waiting:
                self._waiting[number] = True

    def take_back(self, number: int) -> None:
        """Forgets a row that the producer did not take."""
        with self._changed:
            self._remove(number)

    def arrived(self, number: int, topic: str, partition: int, offset: int | None) -> None:
        """Notes where a row is; the offset is None if the broker has not returned it."""
        with self._changed:
            if offset is None:
                self._lost_offsets[topic, partition] = self._next
            else:
                offsets = self.offsets.setdefault(topic, {})
                offsets[partition] = max(offset + 1, offsets.get(partition, 0))
                if number >= self._lost_offsets.get((topic, partition), self._next):
                    del self._lost_offsets[topic, partition]
            self._remove(number)

    def failed(self, number: int, reason: str) -> None:
        """Notes that a row was not delivered."""
        with self._changed:
            if self._failed == self._accepted:
                self._reason = reason
            self._failed += 1
            self._remove(number)

    def begin_at(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """Counts all rows before some offsets as the writer's own."""
        with self._changed:
            for topic, partitions in offsets.items():
                known = self.offsets.setdefault(topic, {})
                for partition, offset in partitions.items():
                    known[partition] = max(offset, known.get(partition, 0))

    def handed_over(self) -> int:
        """The number of the next row."""
        with self._changed:
            return self._next

    def are_reported(self, before: int, seconds: float = 0) -> bool:
        """Whether each row with a lower number has arrived or failed, at the latest after a while."""
        with self._changed:
            return self._changed.wait_for(
                lambda: next(iter(self._waiting), before) >= before, seconds
            )

    def are_taken(self, before: int) -> bool:
        """Whether the producer has each row with a lower number, or it is reported."""
        with self._changed:
            return all(taken for number, taken in self._waiting.items() if number < before)

    def accepted(self) -> int:
        """How many failures were accepted until now."""
        with self._changed:
            return self._accepted

    def failures(self, accepted: int) -> Failures | None:
        """The rows that have failed beyond a number of accepted ones."""
        with self._changed:
            count = self._failed - accepted
            return Failures(count, self._reason) if count > 0 else None

    def accept_failures(self) -> int:
        """Counts all failures as accepted, and returns how many were not before."""
        with self._changed:
            count = self._failed - self._accepted
            self._accepted = self._failed
            return count

    def lost_offset(self) -> Partition | None:
        """A partition with a row at an unknown offset behind all that are known."""
        with self._changed:
            return next(iter(self._lost_offsets), None)

    def position(self) -> KafkaPosition:
        """The offset behind all rows that have arrived, for each partition that has any."""
        with self._changed:
            return KafkaPosition({topic: dict(offsets) for topic, offsets in self.offsets.items()})

    def _remove(self, number: int) -> None:
        # A report that comes twice does no harm.
        self._waiting.pop(number, None)
        self._changed.notify_all()
