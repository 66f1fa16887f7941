"""What has to come out of a count by the hour, by its watermark's rule alone: no Spark here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from flights_weather.clock import HOUR

from .clocks import Clocks
from .inputs import HOURS, STEPS, Steps, reached

TOGETHER = ""
Key = tuple[datetime, str]
"""An hour, and an airport or `TOGETHER`."""


@dataclass
class Outcome:
    """What came out."""

    counts: Counter[Key] = field(default_factory=Counter)
    out: dict[Key, datetime | None] = field(default_factory=dict)
    """The time of day when a count was emitted. None: the day had ended."""
    peak_state: int | None = None
    """Rows in the state of all operators, the most after any batch; of several queries the sum of that.

    None: the rule does not say.
    """

    def emit(self, key: Key, rows: int, step: int) -> None:
        """Takes what a step has emitted."""
        self.counts[key] += rows
        self.out[key] = reached(step) if step < STEPS else None


def truth(steps: Steps, *, apart: bool = False) -> Counter[Key]:
    """The rows of each measured hour, together or by airport."""
    rows = ((hour_of(time), part) for step in steps for part in step for time in step[part])
    return Counter((hour, part if apart else TOGETHER) for hour, part in rows if hour in HOURS)


def counted(steps: Steps, clocks: Clocks, *, apart: bool = False) -> Outcome:
    """What a count by the hour emits, of all airports together or of each."""
    outcome = Outcome(peak_state=0)
    open_: Counter[Key] = Counter()
    for number, step in enumerate(steps):
        for part, times in step.items():
            for hour in map(hour_of, times):
                if hour + HOUR > clocks.of(part):
                    open_[hour, part if apart else TOGETHER] += 1
        outcome.peak_state = max(outcome.peak_state or 0, len(open_))
        clocks.observe(step)
        for key in [key for key in open_ if key[0] + HOUR <= clocks.of(key[1])]:
            outcome.emit(key, open_.pop(key), number)
    return outcome


def lost(outcome: Outcome, expected: Counter[Key]) -> int:
    """How many rows of the measured hours were not counted."""
    return sum((expected - outcome.counts).values())


def smallest_delay(run: Callable[[timedelta], Outcome], expected: Counter[Key]) -> timedelta:
    """The smallest delay, of multiples of ten minutes, with which a query loses nothing."""
    delays = (timedelta(minutes=minutes) for minutes in range(0, 24 * 60, 10))
    return next(delay for delay in delays if not lost(run(delay), expected))


def hour_of(time: datetime) -> datetime:
    """The beginning of the hour of a time."""
    return time.replace(minute=0, second=0)
