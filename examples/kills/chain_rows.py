"""What the writers of a chain send, piece by piece, and what two queries make of it by a rule in plain Python."""

from __future__ import annotations

import random
from collections import Counter
from typing import NamedTuple

WRITERS = {"eu": 0, "us": 10}
"""How many pieces of event time each writer is behind."""
BEGIN = 1_700_000_040
"""The first second of the first piece: a whole minute."""
PIECE = 60
"""Seconds of event time from piece to piece."""
IDS = 4
FIRST = 60
"""Seconds of a window of the first query."""
SECOND = 240
"""Seconds of a window of the second one, whose event times are the ends of the first one's windows."""


class Sent(NamedTuple):
    """A row: a number of its own, an id, and its event time in seconds."""

    number: int
    id: int
    at: int


def noted(writer: str, piece: int) -> int:
    """The time that a writer notes behind a piece, in seconds: rows of a later piece are later."""
    return BEGIN + (piece - WRITERS[writer] - 1) * PIECE


def piece_of(writer: str, seconds: int) -> int:
    """The piece behind which a writer has noted a time."""
    return (seconds - BEGIN) // PIECE + WRITERS[writer] + 1


def rows(seed: int, writer: str, piece: int) -> list[Sent]:
    """The rows of a piece, out of order by up to two minutes; the same of the same seed."""
    draw = random.Random(f"{seed}-{writer}-{piece}")
    begin = noted(writer, piece) - PIECE
    first = (piece * 2 + list(WRITERS).index(writer)) * 100
    return [
        Sent(first + at, draw.randrange(IDS), begin + 1 + draw.randrange(2 * PIECE))
        for at in range(draw.randint(3, 9))
    ]


def expected(seed: int, pieces: dict[str, int]) -> Counter[tuple[int, int]]:
    """How many rows of each id there are in each window of the second query, by its first second.

    Args:
        seed: That of the rows.
        pieces: How many pieces each writer has sent.
    """
    found: Counter[tuple[int, int]] = Counter()
    for writer, count in pieces.items():
        for piece in range(count):
            for row in rows(seed, writer, piece):
                end = row.at - row.at % FIRST + FIRST
                found[end - end % SECOND, row.id] += 1
    return found
