"""A model of writers with rows in flight, which note their times in a log.

It knows every row that is ever written, so it can say what no reader can: whether a row that has
not been read is late.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from support.marks import log_at
from tidemark.marks import KafkaPosition, Mark, MarkWriter

PARTITIONS = 3
TOPIC = "t"


@dataclass
class Stream:
    """Rows that readers can see, by partition: the time of each."""

    rows: list[list[int]] = field(default_factory=lambda: [[] for _ in range(PARTITIONS)])

    def ends(self) -> list[int]:
        return [len(rows) for rows in self.rows]

    def late(self, read: list[int], lower: int) -> list[int]:
        """The times of rows behind a position that are not later than a lower bound."""
        return [
            time
            for rows, offset in zip(self.rows, read, strict=True)
            for time in rows[offset:]
            if time <= lower
        ]


@dataclass
class Writer:
    """A writer whose rows wait in a buffer, in no order, before they can be seen."""

    name: str
    chance: random.Random
    stream: Stream
    marks: MarkWriter
    floor: int = 0
    buffer: list[tuple[int, int]] = field(default_factory=list)
    ends: list[int] = field(default_factory=lambda: [0] * PARTITIONS)
    largest: int | None = None

    def send(self) -> None:
        time = self.floor + self.chance.randint(1, 100)
        self.buffer.append((self.chance.randrange(PARTITIONS), time))

    def flush_some(self) -> None:
        self.chance.shuffle(self.buffer)
        for _ in range(self.chance.randint(0, len(self.buffer))):
            partition, time = self.buffer.pop()
            self.stream.rows[partition].append(time)
            self.largest = max(time, self.largest or 0)
            self.ends[partition] = len(self.stream.rows[partition])

    def note(self) -> None:
        """All rows up to a time are flushed; rows behind it may stay in flight."""
        time = self.floor + self.chance.randint(0, 60)
        staying = [row for row in self.buffer if row[1] > time and self.chance.random() < 0.5]
        for row in staying:
            self.buffer.remove(row)
        while self.buffer:
            self.flush_some()
        self.buffer = staying
        self.floor = time
        # Either exactly where its rows end, or further: the end of the partition.
        end = self.ends if self.chance.random() < 0.5 else self.stream.ends()
        self.ends = [max(mine, offset) for mine, offset in zip(self.ends, end, strict=True)]
        # Every third mark has no largest time, which depends on nothing that is drawn.
        largest = None if time % 3 == 0 else self.largest
        self.marks.note_time(time, position(self.ends), max_time=largest)


def position(offsets: list[int]) -> KafkaPosition:
    return KafkaPosition({TOPIC: dict(enumerate(offsets))})


@dataclass
class History:
    """What a run of the model has left: its marks in the order in which they came, and its rows."""

    stream: Stream
    marks: list[Mark]
    fenced: list[Mark]


def run(folder: Path, seed: int, steps: int = 60) -> History:
    """Several writers send, flush and note; they crash, are replaced, and zombies go on noting."""
    chance = random.Random(seed)
    stream = Stream()
    log = log_at(folder, now=0)
    names = [f"w{n}" for n in range(chance.randint(1, 3))]
    writers = [Writer(name, chance, stream, log.writer(name)) for name in names]
    fenced: list[Mark] = []
    for _ in range(steps):
        writer = chance.choice(writers)
        step = chance.random()
        if step < 0.45:
            writer.send()
        elif step < 0.6:
            writer.flush_some()
        elif step < 0.9:
            writer.note()
        elif step < 0.93:
            writer.marks.alive()
        else:
            # Killed: what was in flight is sent again by the next life, with the same times.
            old = writer.marks
            writer.marks = log.writer(writer.name)
            fenced.append(_zombie(old, chance))
    for writer in writers:
        while writer.buffer:
            writer.flush_some()
    return History(stream, list(log.read().marks), fenced)


def _zombie(old: MarkWriter, chance: random.Random) -> Mark:
    """A false mark of a life that was replaced, as a program would write it that does not look."""
    position_text = f'{{"kafka":{{"{TOPIC}":{{}}}}}}'
    time = chance.randint(0, 10_000)
    return Mark(old.name, old.epoch, 1000 + chance.randint(0, 9), "note", time, 0, position_text)
