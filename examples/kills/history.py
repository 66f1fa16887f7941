"""What the two inputs bring: pieces, each a batch's worth, of rows that are out of order and partly late.

A query that is killed may read two files in one batch that an undisturbed one reads in two: Spark
notes a file as read before it notes the batch. So no row here is late by one way to cut the input
into batches and on time by another: rows are out of order by less than the delay, or late by far.
"""

from __future__ import annotations

import random
from typing import NamedTuple

PIECES = 12
PARTS = 3
IDS = 6
FAR = 1000
"""How many seconds before all others a late row is."""
MANY = 1200
"""Ids of the plan that is about many splits: more than an entry has always all of."""


class Row(NamedTuple):
    """An id, its event time in seconds, and the part of the input that it is in."""

    id: int
    at: int
    part: int


def history(seed: int, many: bool) -> tuple[list[list[Row]], list[list[Row]]]:
    """Pieces of the left and of the right input; the same of the same seed."""
    draw = random.Random(seed)
    return _pieces(draw, 30, many), _pieces(draw, draw.choice([15, 30, 60]), many=False)


def _pieces(draw: random.Random, pace: int, many: bool) -> list[list[Row]]:
    begin = 1_700_000_000
    pieces = []
    for piece in range(PIECES):
        now = begin + piece * pace
        rows = []
        for _ in range(draw.randint(8, 20)):
            at = now - draw.choice([0, 5, 10, 20]) + draw.randint(0, 9)
            # Only when there has long been a watermark, whatever was read at once.
            if piece >= PIECES - 2 and draw.random() < 0.2:
                at = begin - FAR
            rows.append(Row(draw.randrange(MANY if many else IDS), at, draw.randrange(PARTS)))
        if many and piece in (0, PIECES - 2):
            # All of them: else one that has said nothing holds the rest for ever.
            rows += [Row(id, now, id % PARTS) for id in range(MANY)]
        pieces.append(rows)
    # In the end all parts jump, so that most of what waits comes out.
    for jump in (1000, 2000):
        ids = range(MANY if many else PARTS)
        pieces.append([Row(id, begin + PIECES * pace + jump, id % PARTS) for id in ids])
    return pieces
