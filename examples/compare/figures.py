"""From what came out of a way to the figures of the table: pure."""

from __future__ import annotations

import math
from datetime import timedelta
from statistics import median
from typing import NamedTuple

from flights_weather.clock import HOUR

from .cases import Case, Given
from .rule import Outcome, lost
from .way import Way


class Figures(NamedTuple):
    """What a way does with the rows of a case."""

    lost: int
    """Rows of the measured hours."""
    median: float
    """Minutes from the end of an hour to the time of day when it was emitted; infinite: not on that day."""
    longest: float
    peak_state: int | None
    lost_next_day: int
    """By the rule alone."""

    @property
    def is_right(self) -> bool:
        """Nothing was lost, and everything came out on the same day."""
        return not self.lost and self.longest < math.inf


def figures(case: Case, way: Way, outcome: Outcome) -> Figures:
    """The figures of what came out."""
    waits = _waits(outcome, case.today)
    # Only what the rule can confirm is shown.
    says = way.rule(case.today.rows).peak_state is not None
    peak_state = outcome.peak_state if says else None
    next_day = lost(way.rule(case.next_day.rows), case.next_day.counts)
    of_today = lost(outcome, case.today.counts)
    return Figures(of_today, median(waits), max(waits), peak_state, next_day)


def _waits(outcome: Outcome, given: Given) -> list[float]:
    """Of each hour; one of which all rows were lost has none."""
    out = ((key, outcome.out[key]) for key in given.counts if key in outcome.out)
    return [
        math.inf if time is None else (time - key[0] - HOUR) / timedelta(minutes=1)
        for key, time in out
    ]
