"""Kafka topics in memory, for mark logs: partitions, open transactions, and brokers that do not answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from support.producers import FakeProducer, Message
from tidemark_marks._kafka.topic import Record
from tidemark_marks._protocol.text import UnusableError

COMMITTED, OPEN, ABORTED, CONTROL = "committed", "open", "aborted", "control"


@dataclass
class Entry:
    """A record, or the end of a transaction, which no consumer is given."""

    key: bytes | None
    value: bytes | None
    state: str = COMMITTED


@dataclass
class FakeTopic:
    """A topic of two partitions.

    Attributes:
        chooses: The partition for a key; clients of different languages choose differently.
        is_down: Whether the brokers are out of reach.
        problem: Why the topic is not fit for marks.
        most: The largest record.
        given: How many records readers were given.
        before_ends: Called before somebody asks for the ends.
        between_ends: Called after the end of each partition is known, and before the next one is.
    """

    name: str = "marks"
    chooses: Callable[[bytes], int] = lambda key: crc32(key) % 2
    is_down: bool = False
    problem: str | None = None
    most: int = 1 << 20
    given: int = 0
    before_ends: Callable[[], object] = lambda: None
    between_ends: Callable[[], object] = lambda: None
    partitions: list[list[Entry]] = field(default_factory=lambda: [[], []])

    def reader(self, starts: Mapping[int, int], *, committed: bool) -> FakeReader:
        return FakeReader(self, dict(starts), committed)

    def sender(self) -> FakeSender:
        return FakeSender(self)

    def require_fit(self) -> None:
        if self.problem is not None:
            raise OSError(self.problem)

    def put(self, key: bytes | None, value: bytes | None, state: str = COMMITTED) -> Entry:
        """Adds a record."""
        if self.is_down:
            raise OSError("the brokers do not answer")
        entry = Entry(key, value, state)
        self.partitions[self.chooses(key or b"")].append(entry)
        return entry

    def values(self) -> list[bytes]:
        return [entry.value or b"" for part in self.partitions for entry in part]


@dataclass
class FakeReader:
    topic: FakeTopic
    reached: dict[int, int]
    committed: bool

    def ends(self) -> dict[int, int]:
        self.topic.before_ends()
        if self.topic.is_down:
            raise OSError("the brokers do not answer")
        found = {}
        for number, part in enumerate(self.topic.partitions):
            found[number] = self._end(part)
            self.topic.between_ends()
        return found

    def until(self, ends: Mapping[int, int]) -> Iterator[Record]:
        for partition, end in ends.items():
            for offset in range(self.reached.get(partition, 0), end):
                entry = self.topic.partitions[partition][offset]
                self.reached[partition] = offset + 1
                if entry.state != CONTROL and not (self.committed and entry.state == ABORTED):
                    self.topic.given += 1
                    yield Record(partition, offset, entry.key, entry.value)

    def close(self) -> None:
        """Nothing is open."""

    def _end(self, part: list[Entry]) -> int:
        is_open = (at for at, entry in enumerate(part) if self.committed and entry.state == OPEN)
        return next(is_open, len(part))


@dataclass
class FakeSender:
    topic: FakeTopic

    def send(self, key: bytes, values: Sequence[bytes]) -> None:
        for value in values:
            if len(value) > self.topic.most:
                raise UnusableError("too long")
            self.topic.put(key, value)

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class TransactionalProducer(FakeProducer):
    """A producer with transactions. Records for the topic `marks` go there.

    Attributes:
        refuses: Whether a commit fails.
        aborted: The values of rows in aborted transactions.
    """

    marks: FakeTopic = field(default_factory=FakeTopic)
    refuses: bool = False
    aborted: list[Any] = field(default_factory=list)
    _opened: list[Entry] = field(default_factory=list)

    def begin_transaction(self) -> None:
        assert not self._opened

    def commit_transaction(self) -> None:
        if self.refuses:
            raise RuntimeError("the coordinator refuses")
        assert not self.queue
        self._finish(COMMITTED)

    def abort_transaction(self) -> None:
        purged, self.queue = self.queue, []
        for topic, fields in purged:
            self.aborted.append(fields.get("value"))
            fields["on_delivery"]("purged", Message(fields, (topic, None, None)))
        self._finish(ABORTED)

    def _finish(self, state: str) -> None:
        for entry in self._opened:
            entry.state = state
        if self._opened:
            for part in self.marks.partitions:
                if any(other is entry for other in part for entry in self._opened):
                    part.append(Entry(None, None, CONTROL))
        self._opened = []

    def _deliver(self, topic: str, fields: dict[str, Any]) -> None:
        if topic != self.marks.name:
            super()._deliver(topic, fields)
            return
        self._opened.append(self.marks.put(fields["key"], fields["value"], OPEN))
        fields["on_delivery"](None, Message(fields, (topic, 0, 0)))
