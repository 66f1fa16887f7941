"""How long finished hours were held back: the demo's yardstick, free of Spark.

- An hour **could be out** in the first step in which the departures' own watermark
  (their newest event time less the delay) has reached the hour's end: what the
  departures alone would allow.
- An hour **is out** in the step in which the last of its departures has been counted in
  what the query gave out. An hour some of whose departures never came is not out.
- It was **held back** for the steps (= hours) between the two.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from .clock import HOUR


@dataclass(frozen=True)
class Departed:
    """The truth about the departures: what a query would have to give out."""

    newest: Sequence[datetime | None]
    """Newest departure of each step; None in a step without any."""
    counts: Mapping[datetime, int]
    """Departures of each hour that had any."""


@dataclass(frozen=True)
class Held:
    """One line of the table; an hour is counted once it is out."""

    out: int
    hours: int
    median: float | None
    p90: int | None
    longest: int | None
    still_held: int
    """Hours that could be out, and are not, when the replay ends."""


def could_be_out(departed: Departed, delay: timedelta) -> dict[datetime, int]:
    """The step in which each hour could be out; without those that end too late."""
    steps: dict[datetime, int] = {}
    watermark = datetime.min
    for step, newest in enumerate(departed.newest):
        if newest is not None:
            watermark = max(watermark, newest - delay)
        for hour in departed.counts:
            if hour not in steps and hour + HOUR <= watermark:
                steps[hour] = step
    return steps


def is_out(
    given: Iterable[tuple[int, datetime, int]], counts: Mapping[datetime, int]
) -> dict[datetime, int]:
    """The step in which each hour's last departure came.

    Args:
        given: what came out, in order: (step, hour, departures counted).
        counts: departures of each hour in the data.
    """
    steps: dict[datetime, int] = {}
    seen: dict[datetime, int] = defaultdict(int)
    for step, hour, count in given:
        seen[hour] += count
        if seen[hour] == counts.get(hour):
            steps[hour] = step
    return steps


def summary(out: Mapping[datetime, int], could: Mapping[datetime, int], hours: int) -> Held:
    """The figures of one run.

    Raises:
        ValueError: an hour came out that, by its departures, could not be finished.
    """
    early = sorted(hour for hour in out if hour not in could or out[hour] < could[hour])
    if early:
        raise ValueError(f"out before it was finished: {early[0]:%Y-%m-%d %H:%M}")
    held = sorted(out[hour] - could[hour] for hour in out)
    return Held(
        out=len(out),
        hours=hours,
        median=_median(held),
        p90=held[math.ceil(0.9 * len(held)) - 1] if held else None,
        longest=held[-1] if held else None,
        still_held=len(could.keys() - out.keys()),
    )


def _median(ordered: Sequence[int]) -> float | None:
    if not ordered:
        return None
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return float(ordered[middle])
    return (ordered[middle - 1] + ordered[middle]) / 2
