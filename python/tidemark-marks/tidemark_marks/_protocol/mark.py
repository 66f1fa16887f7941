"""A mark: what one writer states at one moment."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from tidemark_marks._protocol.position import MOST, Position, decode_position

Kind: TypeAlias = Literal["note", "alive", "idle", "end"]


class Mark(NamedTuple):
    """A statement of a writer: none of its rows behind a position has an event time up to a time.

    A tuple, because a log has millions of them and a tuple is made three times as fast as a frozen
    dataclass.

    Attributes:
        writer: The writer's name.
        epoch: The writer's life; a later life has a larger number.
        number: The mark's number in its life.
        kind: `note`, `alive` (nothing new is said), `idle` (left out until it notes again) or
            `end` (no more rows).
        time_millis: The noted time in ms since the epoch; None if the mark notes none.
        written_millis: When it was written, in ms since the epoch, by the writer's clock.
        position_text: The position as JSON; None if the mark has none.
        max_time_millis: The largest event time of any row before the position, if the writer
            knows it.
        after: Epoch and number of the mark that a later life follows.
    """

    writer: str
    epoch: int
    number: int
    kind: Kind
    time_millis: int | None
    written_millis: int
    position_text: str | None = None
    max_time_millis: int | None = None
    after: tuple[int, int] | None = None

    @property
    def position(self) -> Position | None:
        """The position, decoded when it is asked for: most marks of a log are never asked."""
        return None if self.position_text is None else decode_position(self.position_text)

    @property
    def place(self) -> tuple[int, int]:
        """The mark's place among those of its writer: epoch and number."""
        return self.epoch, self.number


def read_place(value: object, least_number: int) -> tuple[int, int] | None:
    """The place of a mark from decoded JSON; None for everything else."""
    if type(value) is not list or len(value) != 2:
        return None
    epoch, number = value
    if type(epoch) is not int or type(number) is not int:
        return None
    is_place = 0 <= epoch <= MOST and least_number <= number <= MOST
    return (epoch, number) if is_place else None
