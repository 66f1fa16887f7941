"""Drawn histories of a mark log whose rows are records in the partitions of a topic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.marks_histories import File, Site, Where, World
from tidemark.marks import KafkaPosition
from tidemark_marks._protocol.position import Position

TOPIC = "t"
PARTITIONS = 3


class PartitionsWorld(World):
    """As `World`. A file of the model is one record here, and its name is its partition and its offset."""

    nowhere = f'{{"kafka":{{"{TOPIC}":{{}}}}}}'

    def __init__(self, folder: Path, seed: int, **times: Any) -> None:
        super().__init__(folder, seed, **times)
        self._ends = [0] * PARTITIONS
        self._noted_ends: dict[str, dict[int, int]] = {}

    def position(self, read: set[str]) -> Position:
        """The offsets behind what has been read. A partition is missing if none of its records was."""
        reached = behind(read)
        known = {
            partition: reached.get(partition, 0)
            for partition, end in enumerate(self._ends)
            if partition in reached or not end
        }
        return KafkaPosition({TOPIC: known})

    def some_of(self, unread: list[str]) -> set[str]:
        """Some of the records of each partition, from the first unread one on."""
        share = self.chance.choice([0.2, 0.6, 1])
        some: set[str] = set()
        for partition in range(PARTITIONS):
            left = sorted(offset for at, offset in map(place_of, unread) if at == partition)
            count = sum(self.chance.random() < share for _ in left)
            some |= {f"{partition}:{offset}" for offset in left[:count]}
        return some

    def _publish(self, site: Site) -> None:
        for _ in range(self.chance.randint(1, 3)):
            partition = self.chance.randrange(PARTITIONS)
            name = f"{partition}:{self._ends[partition]}"
            self._ends[partition] += 1
            time = site.floor + self.chance.randint(1, 90_000)
            self.files[name] = File(site.name, (time,), not site.is_done)
            site.pending.append(name)

    def _where(self, site: Site, listed: list[str]) -> Where:
        """Behind what is listed, or further: the ends of all partitions."""
        ends = self._noted_ends.setdefault(site.name, {})
        is_far = self.chance.random() < 0.3
        further = dict(enumerate(self._ends)) if is_far else behind(set(listed))
        for partition, end in further.items():
            ends[partition] = max(end, ends.get(partition, 0))
        return {"position": KafkaPosition({TOPIC: dict(sorted(ends.items()))})}


def behind(records: set[str]) -> dict[int, int]:
    """The offset behind the last one of some records, by partition."""
    ends: dict[int, int] = {}
    for partition, offset in map(place_of, records):
        ends[partition] = max(ends.get(partition, 0), offset + 1)
    return ends


def place_of(record: str) -> tuple[int, int]:
    """A record's partition and offset."""
    partition, offset = record.split(":")
    return int(partition), int(offset)
