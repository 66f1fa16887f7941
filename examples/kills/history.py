"""What the two inputs bring: pieces, each a batch's worth, of rows that are out of order and partly late.

The right input is far behind the left. Rows of the left that are late by its own time are not by the
right one's, which is Spark's watermark of the query: who forgets over a restart what each input has
reached takes them for rows that are on time.

A query that is killed may read two files in one batch that an undisturbed one reads in two: Spark
notes a file as read before it notes the batch. So no row here is late by one way to cut the input
into batches and on time by another: rows are out of order by less than the delay, or late by what
several batches bring.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

PIECES = 18
PARTS = 3
IDS = 6
BEGIN = 1_700_000_000
PACE = 60
"""Seconds of event time from piece to piece."""
BEHIND = 10 * PACE
"""How far the right input is behind the left."""
LATE = BEHIND * 3 // 4
"""How late rows of the left are: more than it brings in a batch, less than the right is behind."""
FAR = 2 * BEHIND
"""How many seconds before all others a row is that is late for both."""
SPEAKS = 3
"""After so many pieces an input of the plan about silence has nothing to say until the end."""
MANY = 1200
"""Ids of the plan that is about many splits: more than an entry has always all of."""
KEPT = 24_000
"""Rows that the first piece of a plan with much state has. Most of them stay to the end."""
FEW = 10_000
"""With fewer rows in state, Tidemark scans them in each batch."""
KEPT_HOURS = 10
"""For so long rows stay in the state of a deduplication and of a join."""
QUARTER = 900
"""Seconds of event time from piece to piece there: three of four pieces end no window of an hour."""


class Row(NamedTuple):
    """An id, its event time in seconds, and the part of the input that it is in."""

    id: int
    at: int
    part: int


MUCH_STATE = ("hours", "distinct", "matches")
"""The plans with much state, of which little expires in a batch."""


def history(seed: int, plan: str) -> tuple[list[list[Row]], list[list[Row]]]:
    """Pieces of the left and of the right input; the same of the same seed and plan."""
    draw = random.Random(seed)
    if plan in MUCH_STATE:
        back = 600 if plan == "hours" else KEPT_HOURS * 3600
        return _much(draw, back), _much(draw, back)
    if plan == "silence":
        # No input is behind, so no row is late, whichever inputs are waited for.
        left, right = _pieces(draw, BEGIN, _none), _pieces(draw, BEGIN, _none)
        return left, [[] if SPEAKS <= at < PIECES else rows for at, rows in enumerate(right)]
    if plan == "many":
        return _pieces(draw, BEGIN, _far, MANY), _pieces(draw, BEGIN - BEHIND, _far)
    return _pieces(draw, BEGIN, _late), _pieces(draw, BEGIN - BEHIND, _far)


def _much(draw: random.Random, back: int) -> list[list[Row]]:
    """Many rows of so many seconds at first, then a few every quarter of an hour. At the end some are late by hours."""
    pieces = [[Row(id, BEGIN - id * back // KEPT, id % PARTS) for id in range(KEPT)]]
    before: list[Row] = []
    for piece in range(1, PIECES):
        now = BEGIN + piece * QUARTER
        new = [
            Row(draw.randrange(KEPT), now - draw.randrange(20), draw.randrange(PARTS))
            for _ in range(draw.randint(8, 20))
        ]
        # Some of the rows once more, in the same piece and in the next one.
        rows = new + draw.sample(new, 2) + before[:2]
        if piece >= PIECES - 2:
            rows += [Row(id, BEGIN - 2 * KEPT_HOURS * 3600, id % PARTS) for id in range(IDS)]
        pieces.append(rows)
        before = new
    for days in (2, 4):
        end = BEGIN + days * 86400
        pieces.append([Row(id, end, id % PARTS) for id in range(IDS)])
    return pieces


def _late(piece: int, now: int) -> int | None:
    """When a late row of a piece is, if there is one: only when there has long been a watermark."""
    return now - LATE if piece * PACE > LATE else None


def _none(_piece: int, _now: int) -> int | None:
    return None


def _far(piece: int, _: int) -> int | None:
    return BEGIN - FAR if piece >= PIECES - 2 else None


def _pieces(
    draw: random.Random, begin: int, late: Callable[[int, int], int | None], ids: int = IDS
) -> list[list[Row]]:
    pieces = []
    for piece in range(PIECES):
        now = begin + piece * PACE
        rows = []
        for _ in range(draw.randint(8, 20)):
            at = now - draw.choice([0, 5, 10, 20]) + draw.randint(0, 9)
            if (instead := late(piece, now)) is not None and draw.random() < 0.2:
                at = instead
            rows.append(Row(draw.randrange(ids), at, draw.randrange(PARTS)))
        if ids == MANY and piece in (0, PIECES - 2):
            # All of them: else one that has said nothing holds the rest forever.
            rows += [Row(id, now, id % PARTS) for id in range(ids)]
        pieces.append(rows)
    # In the end all parts jump, so that most of what waits comes out.
    for jump in (1000, 2000):
        end = BEGIN + PIECES * PACE + jump
        pieces.append([Row(id, end, id % PARTS) for id in range(ids)])
    return pieces
