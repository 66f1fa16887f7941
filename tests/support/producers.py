"""A Kafka producer and its brokers, in memory, for tests that need to say when a row arrives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Message:
    """What a delivery report gives of a row; the names are those of confluent-kafka."""

    fields: Mapping[str, Any]
    where: tuple[str | None, int | None, int | None]
    timestamp_type: int = 1

    def topic(self) -> str | None:
        return self.where[0]

    def partition(self) -> int | None:
        return self.where[1]

    def offset(self) -> int | None:
        return self.where[2]

    def value(self) -> Any:
        return self.fields.get("value")

    def timestamp(self) -> tuple[int, int]:
        return self.timestamp_type, self.fields.get("timestamp", 0)


@dataclass
class FakeProducer:
    """Rows wait in `queue` until `poll` or `flush` lets them arrive, in the topics of `log`.

    Attributes:
        partitions: How many partitions each topic has; by default a row's key chooses one.
        fails: Whether a row fails, by its value.
        is_down: Whether the brokers are out of reach: then nothing arrives.
        reports: Whether deliveries are reported.
        tells_offsets: Whether the reports say at which offset a row is.
        timestamp_type: 1 for the writer's timestamps, 2 for the broker's.
        log: The values in each topic and partition.
    """

    partitions: int = 2
    fails: Callable[[Any], bool] = lambda value: False
    is_down: bool = False
    reports: bool = True
    tells_offsets: bool = True
    timestamp_type: int = 1
    log: dict[tuple[str, int], list[Mapping[str, Any]]] = field(default_factory=dict)
    queue: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    flushes: int = 0
    _serving: threading.local = field(default_factory=threading.local)

    def produce(self, topic: str, **fields: Any) -> None:
        if fields.get("value") == b"too large":
            raise BufferError("queue full")
        self.queue.append((topic, fields))

    def poll(self, timeout: float) -> int:
        return self._serve() if timeout == 0 else 0

    def flush(self, timeout: float) -> int:
        self.flushes += 1
        self._serve()
        return len(self.queue)

    def _serve(self) -> int:
        assert not getattr(self._serving, "busy", False), "the real one aborts the process"
        self._serving.busy = True
        served = 0
        try:
            while self.queue and not self.is_down:
                topic, fields = self.queue.pop(0)
                self._deliver(topic, fields)
                served += 1
        finally:
            self._serving.busy = False
        return served

    def _deliver(self, topic: str, fields: dict[str, Any]) -> None:
        report = fields["on_delivery"]
        if self.fails(fields.get("value")):
            report("timed out", Message(fields, (topic, None, None)))
            return
        key = fields.get("key") or 0
        partition = fields.get("partition", key % self.partitions)
        rows = self.log.setdefault((topic, partition), [])
        rows.append(fields)
        offset = len(rows) - 1 if self.tells_offsets else None
        if self.reports:
            report(None, Message(fields, (topic, partition, offset), self.timestamp_type))
