"""The inputs: what New York's three airports report in each step of half an hour.

In the end every airport reports something of the next day. It ends all windows, so what is not counted then is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import chain
from typing import NamedTuple

from flights_weather import data
from flights_weather.clock import HOUR
from flights_weather.data import AIRPORTS
from pipeline.flights import DOWN_AIRPORT, DOWN_FROM, DOWN_TO, START

STEP = timedelta(minutes=30)
STEPS = 22
"""Without the last one, which ends the day."""
HOURS = [START + hour * HOUR for hour in range(6)]
"""The hours that are measured."""
THE_END = START + timedelta(days=1)
FLIGHTS, WEATHER = "flights", "weather"
"""The inputs' names."""

Step = Mapping[str, Sequence[datetime]]
"""What arrives in a step: event times by airport."""
Steps = Sequence[Step]


class Day(NamedTuple):
    """A day of November 2013. Its times are shown as if it were the first."""

    number: int
    down_to: datetime
    """When LaGuardia's link is up again."""


TODAY = Day(1, DOWN_TO)
NEXT_DAY = Day(2, DOWN_TO + timedelta(hours=2))
"""The link is down for twice as long."""


class Flight(NamedTuple):
    """A flight that departed."""

    scheduled: datetime
    departure: datetime
    origin: str


@cache
def flights(day: Day) -> tuple[Flight, ...]:
    """All flights that were scheduled for a day, and departed."""
    lines = (line for line in data.flights() if _is_of(line, day))
    found = ((line, data.departure_row(line)) for line in lines)
    return tuple(
        Flight(
            _shown(data.scheduled(line), day),
            _shown(datetime.fromisoformat(row["departure"]), day),
            line["origin"],
        )
        for line, row in found
        if row is not None
    )


def stragglers(day: Day) -> Steps:
    """The times for which flights were scheduled, reported when they depart: a few of them hours later."""
    return _steps((flight.scheduled, flight.departure, flight.origin) for flight in flights(day))


def departures(day: Day) -> Steps:
    """Departures, reported when they happen."""
    return _steps((flight.departure, flight.departure, flight.origin) for flight in flights(day))


def link_down(day: Day) -> Steps:
    """Departures. LaGuardia's link is down for a while, and then brings what has happened meanwhile."""
    return _steps(_by_link(flight.departure, flight.origin, day) for flight in flights(day))


def link_dead(day: Day) -> Steps:
    """Departures. LaGuardia's link is never up again."""
    return _steps(
        (flight.departure, flight.departure, flight.origin)
        for flight in flights(day)
        if flight.origin != DOWN_AIRPORT or flight.departure < DOWN_FROM
    )


def weather(day: Day) -> Steps:
    """The hours of weather records, by the link that is down for a while."""
    return _steps(
        _by_link(_shown(datetime.fromisoformat(row["weather_time"]), day), row["origin"], day)
        for row in (data.weather_row(line) for line in data.weather_records() if _is_of(line, day))
    )


def times(step: Step) -> Iterator[datetime]:
    """The event times of a step, of all airports."""
    return chain.from_iterable(step.values())


def reached(step: int) -> datetime:
    """The time of day when a step is over.

    >>> reached(0)
    datetime.datetime(2013, 11, 1, 8, 30)
    """
    return START + (step + 1) * STEP


def _is_of(line: Mapping[str, str], day: Day) -> bool:
    return (line["month"], line["day"]) == ("11", str(day.number))


def _shown(time: datetime, day: Day) -> datetime:
    return time - timedelta(days=day.number - START.day)


def _by_link(time: datetime, origin: str, day: Day) -> tuple[datetime, datetime, str]:
    down = origin == DOWN_AIRPORT and DOWN_FROM <= time < day.down_to
    return time, day.down_to if down else time, origin


def _steps(rows: Iterable[tuple[datetime, datetime, str]]) -> Steps:
    """From event time, time of arrival, and airport of each row."""
    found: list[dict[str, list[datetime]]] = [
        {airport: [] for airport in AIRPORTS} for _ in range(STEPS)
    ]
    for time, arrives, airport in rows:
        step = (arrives - START) // STEP
        if 0 <= step < STEPS:
            found[step][airport].append(time)
    return [*found, {airport: [THE_END] for airport in AIRPORTS}]
