"""A mark log in a Kafka topic. `docs/noted-time/format.md` is the protocol."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator

from tidemark_marks._kafka.topic import Topic
from tidemark_marks._kafka.topic_life import TopicLife
from tidemark_marks._kafka.topic_marks import TopicMarks
from tidemark_marks._protocol.position import Position
from tidemark_marks._reading.cut import Chain
from tidemark_marks._reading.log import MOST_LOOKS, Contents, many_objects
from tidemark_marks.errors import invalid_option


class TopicLog:
    """The log of one stream in a topic. Each reading goes on where the one before has ended.

    Args:
        location: Its location as text.
        topic: The topic.
        stream: The stream, by which records of several streams in one topic are told apart.
    """

    def __init__(self, location: str, topic: Topic, stream: str) -> None:
        self.location = location
        self._topic = topic
        self._stream = stream
        self._lock = threading.Lock()
        self._marks = TopicMarks(topic.name, stream)
        self._starts: dict[int, int] = {}

    def exists(self) -> bool:
        """As `MarkStore.exists`: `read` itself raises for a topic that does not exist."""
        return True

    def read(self, only: Collection[str] | None = None) -> Contents:
        """As `MarkStore.read`: every mark that was committed when the call began.

        The ends of several partitions are those of several moments. So they are asked for again,
        until there is nothing new of the stream: no mark is taken without the writers before it.
        """
        with self._lock:
            reader = self._topic.reader(self._starts, committed=True)
            try:
                ends = reader.ends()
                if any(ends.get(at, 0) < start for at, start in self._starts.items()):
                    # The topic was deleted and created again.
                    self._marks, self._starts = TopicMarks(self._topic.name, self._stream), {}
                    reader.close()
                    reader = self._topic.reader(self._starts, committed=True)
                with many_objects():
                    for _ in range(MOST_LOOKS):
                        # Taken in one by one: `any` alone would stop at the first one of the stream.
                        if sum(self._marks.add(record) for record in reader.until(ends)) == 0:
                            break
                        ends = reader.ends()
            finally:
                self._starts = dict(reader.reached)
                reader.close()
            return self._marks.contents(only)

    def purged(self, only: Collection[str] | None = None) -> dict[str, Chain]:
        """As `MarkStore.purged`: a topic does not say what its retention has removed."""
        return {}

    def positions(self) -> Iterator[tuple[str, Position]]:
        """As `MarkStore.positions`."""
        for mark in self.read().marks:
            position = mark.position
            if position is not None:
                yield mark.writer, position

    def begin(self, writer: str, now_millis: int) -> TopicLife:
        """As `MarkStore.begin`."""
        return TopicLife.begin(self._topic, self.location, self._stream, writer, now_millis)

    def purge(self, before_millis: int) -> int:
        """Refused: a topic has a retention.

        Raises:
            TidemarkError: `INVALID_OPTION`.
        """
        raise invalid_option(
            "location",
            self.location,
            "a folder for purge, because Kafka removes old marks itself",
            "setting retention.ms for the topic",
        )
