"""How Spark's Kafka source shares out ``maxOffsetsPerTrigger``: pro rata of what waits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence


def shares(waiting: Sequence[int], limit: int) -> list[int]:
    """How many rows of each partition the next batch reads.

    A partition's share of the limit is its share of the rows that wait, without the fraction;
    a partition that would get nothing gets a row.

    >>> shares([600, 300, 1, 0], 90)
    [59, 29, 1, 0]
    """
    total = float(sum(waiting))
    if total < 1:
        return list(waiting)
    return [min(rows, _whole(limit * (rows / total))) for rows in waiting]


def batches(waiting: Sequence[int], limit: int) -> Iterator[list[int]]:
    """The rows of each partition in one batch after the other, until none wait.

    >>> list(batches([3, 1], 3))
    [[2, 1], [1, 0]]
    """
    left = list(waiting)
    while any(left):
        share = shares(left, limit)
        yield share
        left = [rows - taken for rows, taken in zip(left, share, strict=True)]


def _whole(share: float) -> int:
    return math.ceil(share) if share < 1 else math.floor(share)
