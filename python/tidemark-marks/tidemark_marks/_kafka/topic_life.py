"""One life of a writer in a mark log in Kafka: how it claims its epoch, and adds marks.

Kafka has no file that only one can make. So a life writes a claim, and reads all partitions after
that: clients of different languages put one key into different partitions. Whichever of two lives
reads last sees the other one.

Epochs are looked for among all records, also those of open transactions. What the writer has said
is taken from committed records only, so a life waits until transactions with marks of an earlier
life have ended. It also waits until readers see its first mark.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterable, Iterator

from tidemark_marks._kafka.topic import Record, Topic, TopicReader, TopicSender
from tidemark_marks._kafka.topic_marks import TopicMarks
from tidemark_marks._kafka.topic_text import encode_claim, encode_value, key_of, read_claim
from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.position import MOST
from tidemark_marks._protocol.text import UnusableError
from tidemark_marks._reading.rules import BY_PLACE, unfenced
from tidemark_marks._store import Past
from tidemark_marks._writing.errors import no_epoch_left

TRANSACTION_SECONDS = 90.0
"""How long a new life waits for an open transaction of an earlier one: longer than brokers let one be open."""

_LOOK_SECONDS = 0.1


class Epochs:
    """The epochs that records of one writer take, and how far these records go."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._claims: dict[int, set[str]] = {}
        self.latest = -1
        self.ends: dict[int, int] = {}

    def add(self, records: Iterable[Record]) -> None:
        """Takes in records; those of other writers are passed over."""
        for record in records:
            if record.key != self._key:
                continue
            self.ends[record.partition] = record.offset + 1
            found = read_claim(record.value)
            if found is not None:
                self.latest = max(self.latest, found.epoch)
                if found.claim is not None:
                    self._claims.setdefault(found.epoch, set()).add(found.claim)

    def is_latest(self, epoch: int, claim: str) -> bool:
        """Whether a claim has the largest epoch, and no other claim has the same."""
        return self.latest == epoch and self._claims.get(epoch) == {claim}


class TopicLife:
    """A life of a writer. `begin` makes one.

    Attributes:
        topic: The topic's name.
        key: The key of the writer's records.
    """

    def __init__(
        self,
        location: str,
        topic: Topic,
        key: bytes,
        writer: str,
        epoch: int,
        past: Past,
        reader: TopicReader,
        sender: TopicSender,
        epochs: Epochs,
    ) -> None:
        self.location = location
        self.topic = topic.name
        self.key = key
        self.writer = writer
        self.epoch = epoch
        self.past = past
        self._topic = topic
        self._is_seen = False
        self._reader = reader
        self._sender = sender
        self._epochs = epochs
        self._unsent: list[bytes] = []

    @staticmethod
    def begin(topic: Topic, location: str, stream: str, writer: str, now_millis: int) -> TopicLife:
        """Claims an epoch that is larger than all before and no smaller than the clock.

        Raises:
            TidemarkError: `MARK_NOT_WRITTEN` if no larger epoch is left.
            OSError: If the topic cannot be read or written, or does not keep marks.
        """
        topic.require_fit()
        key = key_of(stream, writer)
        sender, reader = topic.sender(), topic.reader({}, committed=False)
        try:
            epochs = Epochs(key)
            epochs.add(_until_now(reader))
            epoch = _claim(reader, sender, epochs, key, writer, location, now_millis)
            past = _past(topic, stream, writer, epochs)
        except BaseException:
            sender.close()
            reader.close()
            raise
        return TopicLife(location, topic, key, writer, epoch, past, reader, sender, epochs)

    def is_fenced(self) -> bool:
        """As `WriterLife.is_fenced`."""
        return self._epochs.latest > self.epoch

    def add(self, mark: Mark) -> None:
        """As `WriterLife.add`."""
        self._unsent.append(encode_value(mark))
        try:
            self._sender.send(self.key, self._unsent)
        except UnusableError:
            self._unsent.pop()
            raise
        self._unsent.clear()
        self.look()
        if not self._is_seen:
            self._wait_until_seen()
            self._is_seen = True

    def look(self) -> None:
        """Looks for later lives.

        A later life reads the past after it has claimed its epoch. So either it reads what this one
        has written before, or it is seen here.

        Raises:
            OSError: If the topic cannot be read.
        """
        self._epochs.add(_until_now(self._reader))

    def _wait_until_seen(self) -> None:
        """Returns when readers see what the life has written, or when no transaction can still be open.

        They do not see what is behind an open transaction of another writer. So a mark that is written
        after this life has begun is never read without this writer.
        """
        reader = self._topic.reader(self._epochs.ends, committed=True)
        try:
            _decided(reader, self._epochs)
        finally:
            reader.close()

    def purge(self, before_millis: int) -> None:
        """Nothing: the topic's retention removes old marks."""

    def is_at_seal(self) -> bool:
        """Never: there are no files."""
        return False

    def close(self) -> None:
        """As `WriterLife.close`."""
        self._sender.close()
        self._reader.close()


def _claim(
    reader: TopicReader,
    sender: TopicSender,
    epochs: Epochs,
    key: bytes,
    writer: str,
    location: str,
    now_millis: int,
) -> int:
    epoch = now_millis
    while (epoch := max(epochs.latest + 1, epoch)) <= MOST:
        claim = uuid.uuid4().hex
        sender.send(key, [encode_claim(writer, epoch, claim, now_millis)])
        epochs.add(_until_now(reader))
        if epochs.is_latest(epoch, claim):
            return epoch
        # Two lives that have met must not meet again.
        epoch += random.randrange(1, 1000)
    raise no_epoch_left(writer, location, "using another name for the writer")


def _past(topic: Topic, stream: str, writer: str, epochs: Epochs) -> Past:
    marks = TopicMarks(topic.name, stream)
    key = key_of(stream, writer)
    reader = topic.reader({}, committed=True)
    try:
        for record in reader.until(_decided(reader, epochs)):
            if record.key == key:
                marks.add(record)
    finally:
        reader.close()
    counted = unfenced(sorted(marks.of(writer), key=BY_PLACE))
    times = [mark.time_millis for mark in counted if mark.time_millis is not None]
    positions = [mark.position_text for mark in counted if mark.position_text is not None]
    last = counted[-1] if counted else None
    place = None if last is None else last.place
    if place is not None and marks.is_torn(writer):
        # It may be a mark, so readers of files must see that one is missing.
        place = (place[0], place[1] + 1)
    return Past(last, place, max(times, default=None), positions[-1] if positions else None)


def _until_now(reader: TopicReader) -> Iterator[Record]:
    return reader.until(reader.ends())


def _decided(reader: TopicReader, epochs: Epochs) -> dict[int, int]:
    """The ends, once no open transaction has a record of the writer."""
    until = time.monotonic() + TRANSACTION_SECONDS
    while True:
        ends = reader.ends()
        if all(ends.get(partition, 0) >= end for partition, end in epochs.ends.items()):
            return ends
        if time.monotonic() > until:
            raise OSError("a transaction that was open when the life began is still open")
        time.sleep(_LOOK_SECONDS)
