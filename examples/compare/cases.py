"""The cases: a question, an input, and ways to answer it.

A longer delay is the smallest one that loses nothing of this input. That is hindsight, so each way is judged by the
next day, too, with the same delays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from . import after_join, apart, inputs, together
from .inputs import NEXT_DAY, TODAY, Day, Steps
from .joined import all_joined
from .rule import Key, smallest_delay, truth
from .way import SHORT, Rows, Way


class Given(NamedTuple):
    """What arrives on a day, and how many rows each measured hour has."""

    rows: Rows
    counts: Counter[Key]


@dataclass(frozen=True)
class Case:
    """A question, its input on both days, and ways to answer it."""

    title: str
    today: Given
    next_day: Given
    ways: tuple[Way, ...]


def cases() -> list[Case]:
    """All cases, with delays that are found by the rules."""
    return [_stragglers(), *_behind_and_silent(), _apart(), _after_join()]


def _stragglers() -> Case:
    given = partial(_of_flights, inputs.stragglers)
    today = given(TODAY)
    ways = (
        together.one_clock(SHORT),
        _smallest(together.one_clock, today),
        together.one_clock_by_tidemark(),
    )
    return Case(
        "One input with a few stragglers, counted by the hour", today, given(NEXT_DAY), ways
    )


def _behind_and_silent() -> list[Case]:
    behind = partial(_of_flights, inputs.link_down)
    silent = partial(_of_flights, inputs.link_dead)
    # One query for both, because what the link is going to do is unknown in the morning.
    ways = (
        together.one_clock(SHORT),
        _smallest(together.one_clock, behind(TODAY)),
        together.an_input_each("min"),
        together.an_input_each("max"),
        together.split(),
        together.split_or_idle(),
    )
    return [
        Case(title, given(TODAY), given(NEXT_DAY), ways)
        for title, given in (
            ("Three airports counted together, one of them behind for two hours", behind),
            ("The same queries, and that airport never comes back", silent),
        )
    ]


def _apart() -> Case:
    given = partial(_of_flights, inputs.link_down, apart=True)
    ways = (
        apart.one_query("min"),
        apart.one_query("max"),
        apart.a_query_each(),
        apart.one_query_by_tidemark(),
    )
    title = "Three airports counted each for itself, one of them behind"
    return Case(title, given(TODAY), given(NEXT_DAY), ways)


def _after_join() -> Case:
    today = _of_join(TODAY)
    longer = smallest_delay(
        lambda delay: after_join.one_query(delay).rule(today.rows), today.counts
    )
    ways = (
        after_join.one_query(SHORT),
        after_join.one_query(longer),
        after_join.one_query(SHORT, "max"),
        after_join.an_input_each(),
        _smallest(partial(after_join.two_queries, longer), today),
        after_join.by_tidemark(),
    )
    title = "Flights joined with their weather, then counted; the weather of one airport is behind"
    return Case(title, today, _of_join(NEXT_DAY), ways)


def _smallest(way: Callable[..., Way], given: Given) -> Way:
    """A way with the smallest delay that loses nothing."""
    return way(smallest_delay(lambda delay: way(delay).rule(given.rows), given.counts))


def _of_flights(steps: Callable[[Day], Steps], day: Day, *, apart: bool = False) -> Given:
    rows = Rows(steps(day))
    return Given(rows, truth(rows.flights, apart=apart))


def _of_join(day: Day) -> Given:
    flights, weather = inputs.departures(day), inputs.weather(day)
    return Given(Rows(flights, weather), truth(all_joined(flights, weather)))
