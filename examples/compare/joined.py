"""An inner join of departures with the weather of their hour, by its watermarks' rules alone: no Spark here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple, Protocol

from flights_weather.clock import HOUR
from flights_weather.data import AIRPORTS

from .clocks import NONE, Clocks, Policy
from .inputs import FLIGHTS, WEATHER, Step, Steps, times
from .rule import hour_of


class Marks(NamedTuple):
    """The watermarks of the join's two sides, and of the departures that it emits."""

    flights: datetime
    weather: datetime
    out: datetime


class JoinClocks(Protocol):
    """The watermarks of a join."""

    def observe(self, flights: Step, weather: Step) -> None:
        """Advances them by what a step has brought."""

    def now(self) -> Marks:
        """Where they are."""


class OneWatermark:
    """Stock Spark's rule. It takes off the hour by which a departure may follow its weather."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def observe(self, flights: Step, weather: Step) -> None:
        # The weather may be one input, or one for each airport.
        self._policy.observe({FLIGHTS: [*times(flights)], WEATHER: [*times(weather)], **weather})

    def now(self) -> Marks:
        watermark = self._policy.of(FLIGHTS)
        return Marks(watermark, watermark, watermark - HOUR)


class OfEachSide:
    """Tidemark's rule. A departure comes out with its weather, so it waits for both sides and no longer."""

    def __init__(self, flights: Clocks, weather: Clocks) -> None:
        self._flights, self._weather = flights, weather

    def observe(self, flights: Step, weather: Step) -> None:
        self._flights.observe(flights)
        self._weather.observe(weather)

    def now(self) -> Marks:
        flights, weather = self._flights.of(FLIGHTS), self._weather.of(WEATHER)
        return Marks(flights, weather, min(flights, weather))


class Joined(NamedTuple):
    """What comes out of a join."""

    steps: Steps
    watermarks: list[datetime]
    """Of the departures, after each step."""


class Row(NamedTuple):
    time: datetime
    origin: str


def joined(flights: Steps, weather: Steps, clocks: JoinClocks) -> Joined:
    """What the join emits in each step."""
    out: list[Step] = []
    watermarks = []
    kept_flights: list[Row] = []
    kept_weather: list[Row] = []
    for departed, recorded in zip(flights, weather, strict=True):
        late = clocks.now()
        new_flights = [row for row in _rows(departed) if row.time > late.flights]
        new_weather = [row for row in _rows(recorded) if row.time > late.weather]
        kept_weather += new_weather
        found = [*_matches(kept_flights, new_weather), *_matches(new_flights, kept_weather)]
        kept_flights += new_flights
        out.append(_step(found))
        clocks.observe(departed, recorded)
        now = clocks.now()
        # What is left can still have a match.
        kept_flights = [row for row in kept_flights if row.time > now.weather]
        kept_weather = [row for row in kept_weather if row.time > now.flights - HOUR]
        watermarks.append(now.out)
    return Joined(out, watermarks)


def all_joined(flights: Steps, weather: Steps) -> Steps:
    """What a join emits that keeps everything."""
    every = [row for step in weather for row in _rows(step)]
    return [_step(_matches(_rows(step), every)) for step in flights]


class Replayed:
    """The watermark that a join hands on."""

    def __init__(self, watermarks: Iterable[datetime]) -> None:
        self._next = iter(watermarks)
        self._watermark = NONE

    def observe(self, step: Step) -> None:
        self._watermark = next(self._next)

    def of(self, part: str) -> datetime:
        return self._watermark


def _matches(flights: Iterable[Row], weather: Iterable[Row]) -> Iterator[Row]:
    hours = {(row.origin, row.time) for row in weather}
    return (row for row in flights if (row.origin, hour_of(row.time)) in hours)


def _rows(step: Step) -> list[Row]:
    return [Row(time, origin) for origin, arrived in step.items() for time in arrived]


def _step(rows: Iterable[Row]) -> Step:
    found: dict[str, list[datetime]] = {airport: [] for airport in AIRPORTS}
    for row in rows:
        found[row.origin].append(row.time)
    return found
