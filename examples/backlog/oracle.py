"""What has to come out of an hourly count by the rule of its watermark alone: no Spark here.

- Every part of the input has a newest event time. The input's watermark is made of these
  by a *rule*, less the delay; it never goes back.
- Batch ``n`` works with two watermarks. It drops the rows of hours that have ended by the
  one *decided for batch n-1*; then it gives out, and forgets, the hours that have ended by
  the one decided for batch ``n``: by all that was read up to and with batch ``n-1``.
- When all has been read and the watermark has moved, one more batch runs, without rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from .clock import DELAY, WINDOW, window_of
from .told import Given, Split, Told

Batch = Mapping[Split, Sequence[int]]
"""The event times that one batch reads of each part."""

NO_ROWS: Batch = {}
UNKNOWN = -1
"""Before every time there is: a watermark that has not begun, a part that has had no rows."""

Rule = Callable[[Mapping[Split, int]], int]
"""From the newest event time of each part to the one that counts for the whole input."""


def by_the_newest(newest: Mapping[Split, int]) -> int:
    """Stock Spark's rule: one clock, that of the part which is ahead."""
    return max(newest.values())


def by_the_oldest(newest: Mapping[Split, int]) -> int:
    """The rule of splits: a clock each, and the one furthest behind counts."""
    return min(newest.values())


def tell(batches: Iterable[Batch], rule: Rule) -> Told:
    """What comes of these batches.

    Every part has to be in the first batch: what is to be waited for is known from then on.
    """
    outcome = Told()
    newest: dict[Split, int] = {}
    hours: Counter[tuple[int, Split]] = Counter()
    late = watermark = UNKNOWN
    for batch in chain(batches, [NO_ROWS]):
        late, watermark = watermark, _watermark(newest, rule, watermark)
        if batch is NO_ROWS and watermark == late:
            break
        hours.update(_on_time(batch, late))
        ended = sorted(hour for hour in hours if hour[0] + WINDOW <= watermark)
        outcome.given += [Given(outcome.batches, *hour, hours.pop(hour)) for hour in ended]
        outcome.peak_state = max(outcome.peak_state, len(hours))
        outcome.batches += 1
        for split, times in batch.items():
            newest[split] = max(newest.get(split, UNKNOWN), max(times, default=UNKNOWN))
    left: Counter[Split] = Counter()
    for (_, split), count in hours.items():
        left[split] += count
    outcome.left = sorted(left.items(), key=str)
    return outcome


def _watermark(newest: Mapping[Split, int], rule: Rule, before: int) -> int:
    return max(before, rule(newest) - DELAY) if newest else before


def _on_time(batch: Batch, late: int) -> Iterable[tuple[int, Split]]:
    for split, times in batch.items():
        for hour in map(window_of, times):
            if hour + WINDOW > late:
                yield hour, split
