"""A Kafka topic as a mark log uses it. `topic_client` reaches a real one; nothing else knows of a client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol


class Record(NamedTuple):
    """A record of a topic.

    Attributes:
        partition: Its partition.
        offset: Its offset there.
        key: Its key.
        value: Its value.
        appended_millis: When it was appended, in ms since the epoch, by the broker's clock. None in
            a topic whose records have the clocks of their producers.
    """

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    appended_millis: int | None = None


class TopicReader(Protocol):
    """Reads all partitions of a topic, each from where it has come to.

    Attributes:
        reached: The offset of the next record, for each partition that was read.
    """

    reached: dict[int, int]

    def ends(self) -> dict[int, int]:
        """The offset behind the last record of each partition, as it is now.

        Raises:
            OSError: If the brokers do not tell, or there is no such topic.
        """

    def until(self, ends: Mapping[int, int]) -> Iterator[Record]:
        """The records up to these ends, each once; later calls go on from there.

        Raises:
            OSError: If they cannot be read.
        """

    def close(self) -> None:
        """Ends the client."""


class TopicSender(Protocol):
    """Writes to a topic."""

    def send(self, key: bytes, values: Sequence[bytes]) -> None:
        """Writes values in order. They are acknowledged by all replicas when the call returns.

        Raises:
            OSError: If one of them may not have been written.
            UnusableError: If the last one is longer than the topic allows.
        """

    def close(self) -> None:
        """Ends the client."""


class Topic(Protocol):
    """A topic that a client can reach."""

    @property
    def name(self) -> str:
        """The topic's name."""

    def reader(self, starts: Mapping[int, int], *, committed: bool) -> TopicReader:
        """A client that reads.

        Args:
            starts: Where to go on; a partition that is not named is read from its beginning.
            committed: Whether records of open and aborted transactions are left out. The ends are
                then before the first open transaction.
        """

    def sender(self) -> TopicSender:
        """A client that writes."""

    def require_fit(self) -> None:
        """Checks the topic's settings, as far as this client may see them.

        Raises:
            OSError: If there is no such topic, or it does not keep marks.
        """
