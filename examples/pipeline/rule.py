"""What has to come out of both queries by their rules alone: no Spark here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from flights_weather.clock import HOUR

from .flights import Step, reached

QUARTER = timedelta(minutes=15)
FIRST_DELAY = timedelta(minutes=10)
MILLI = timedelta(milliseconds=1)


class Quarter(NamedTuple):
    """A row of the first query."""

    start: datetime
    origin: str


Key = tuple[datetime, str]
"""An hour, and an airport."""


@dataclass
class Outcome:
    """What comes out of the second query."""

    counts: Counter[Key] = field(default_factory=Counter)
    """Flights by hour and airport."""
    out: dict[datetime, datetime] = field(default_factory=dict)
    """For each hour, the event time that the airports had reached when it was emitted."""


def truth(steps: Sequence[Step]) -> Counter[Key]:
    """Departures by hour and airport."""
    reports = (report for step in steps for rows in step.values() for report in rows)
    return Counter((_of(r.time, HOUR), r.origin) for r in reports if r.departed)


def first(steps: Sequence[Step]) -> list[tuple[Counter[Quarter], datetime | None]]:
    """What the first query emits in each step, and the time that it notes: its slowest input's."""
    newest: dict[str, datetime] = {}
    open_: Counter[Quarter] = Counter()
    found = []
    for step in steps:
        for origin, reports in step.items():
            times = [report.time for report in reports if report.departed]
            open_.update(Quarter(_of(time, QUARTER), origin) for time in times)
            if times:
                newest[origin] = max(newest.get(origin, datetime.min), *times)
        ended = [q for q in open_ if q.start + QUARTER <= newest[q.origin] - FIRST_DELAY]
        emitted = Counter({quarter: open_.pop(quarter) for quarter in ended})
        all_known = len(newest) == len(step)
        found.append((emitted, min(newest.values()) - FIRST_DELAY if all_known else None))
    return found


def second(
    read: Sequence[tuple[Counter[Quarter], datetime | None]], delay: timedelta | None
) -> Outcome:
    """What the second query emits, with a delay, or by noted time if it has none."""
    outcome = Outcome()
    open_: Counter[Key] = Counter()
    watermark = newest = datetime.min + HOUR
    for step, (quarters, noted) in enumerate(read):
        for quarter, flights in quarters.items():
            hour = _of(quarter.start, HOUR)
            if hour + HOUR > watermark:
                open_[hour, quarter.origin] += flights
            # A quarter's time is its last instant.
            newest = max(newest, quarter.start + QUARTER - MILLI)
        reads = noted if delay is None else newest - delay
        watermark = max(watermark, reads or watermark)
        for hour, origin in [key for key in open_ if key[0] + HOUR <= watermark]:
            outcome.counts[hour, origin] = open_.pop((hour, origin))
            outcome.out[hour] = reached(step)
    return outcome


def _of(time: datetime, length: timedelta) -> datetime:
    """The beginning of the window of a time."""
    return time - (time - datetime.min) % length
