"""A mark log as `Marks` and its writers use it, wherever it is: in a folder or in a Kafka topic."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.position import Position
from tidemark_marks._reading.cut import Chain
from tidemark_marks._reading.log import Contents


@dataclass(frozen=True)
class Past:
    """What a writer said in the lives before.

    Attributes:
        last: Its last mark that counts; None if there is none.
        place: The epoch and number of its last mark. Behind `last` if there are marks that cannot
            be read: readers then see that marks are missing.
        time_millis: The largest time it has noted.
        position_text: Its last position.
    """

    last: Mark | None
    place: tuple[int, int] | None
    time_millis: int | None
    position_text: str | None


class WriterLife(Protocol):
    """One life of a writer, which adds marks to its log."""

    @property
    def writer(self) -> str:
        """The writer's name."""

    @property
    def epoch(self) -> int:
        """The number of the life."""

    @property
    def past(self) -> Past:
        """The lives before."""

    @property
    def location(self) -> str:
        """The log's location."""

    def is_fenced(self) -> bool:
        """Whether a later life has begun, as far as this one has seen."""

    def add(self, mark: Mark) -> None:
        """Makes a mark durable. If that fails, the next call writes it as well.

        Raises:
            OSError: If it could not be written.
            UnusableError: If it would be too long; it is forgotten then.
        """

    def purge(self, before_millis: int) -> None:
        """Removes marks of the writer that were written before a time, where that is its task."""

    def is_at_seal(self) -> bool:
        """Whether this is the moment to purge."""

    def close(self) -> None:
        """Adds no more."""


class MarkStore(Protocol):
    """The place of a mark log."""

    @property
    def location(self) -> str:
        """The location as text, by which queries find it too."""

    def exists(self) -> bool:
        """Whether it exists; True if `read` itself raises for a log that does not."""

    def read(self, only: Collection[str] | None = None) -> Contents:
        """Reads the log as it is now.

        Args:
            only: The writers that are needed; None for all.

        Raises:
            OSError: If it cannot be read.
        """

    def purged(self, only: Collection[str] | None = None) -> Mapping[str, Chain]:
        """What was purged of writers of files, to be asked for after `read`.

        Args:
            only: The writers that are asked for; None for all.

        Raises:
            OSError: If the log cannot be read.
        """

    def positions(self) -> Iterator[tuple[str, Position]]:
        """Writers with a position that each has noted, found while they are asked for.

        Raises:
            OSError: If the log cannot be read.
        """

    def begin(self, writer: str, now_millis: int) -> WriterLife:
        """Begins a life of a writer: earlier ones are fenced off.

        Raises:
            TidemarkError: `MARK_NOT_WRITTEN` if no larger epoch is left.
            OSError: If the log cannot be read or written.
        """

    def purge(self, before_millis: int) -> int:
        """Removes what dead writers have left.

        Raises:
            TidemarkError: `INVALID_OPTION` if that is not the task of this package.
            OSError: If the log cannot be changed.
        """
