"""The input: departures as three airports report them, hour by hour.

Each airport sends a file for each of its desks. A flight is in the file of one of them. LaGuardia's files come an hour
later than those of the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from flights_weather.data import departure_row, flights, scheduled

START = datetime(2013, 11, 1)
DAYS = 1
STEP = timedelta(hours=1)
SLOW_AIRPORT = "LGA"
SLOW_BY = timedelta(hours=1)
FILES = 4
"""That an airport sends in a step: one for each of its desks."""


class Departure(NamedTuple):
    """A flight that departed."""

    departure: datetime
    origin: str
    flight: str

    def to_json(self) -> dict[str, str]:
        return {**self._asdict(), "departure": self.departure.isoformat()}


Transition = tuple[Departure, Departure]
"""A departure, and the next one from the same airport."""


def departures() -> list[Departure]:
    """All departures of the replay, in the order of their event times."""
    return sorted(filter(None, map(_departure, flights())))


def _departure(line: Mapping[str, str]) -> Departure | None:
    # Parsing the other months would take longer than the replay.
    if line["month"] != "11":
        return None
    row = departure_row(line) if scheduled(line) < START + timedelta(days=DAYS) else None
    if row is None:
        return None
    time = datetime.fromisoformat(row["departure"])
    return Departure(time, row["origin"], row["carrier"] + row["flight"])


def files(all_: Sequence[Departure]) -> Iterator[list[list[Departure]]]:
    """What arrives in each step: several files, each with its rows."""
    by_step: dict[int, dict[str, list[Departure]]] = defaultdict(lambda: defaultdict(list))
    for departure in all_:
        slow = SLOW_BY if departure.origin == SLOW_AIRPORT else timedelta()
        by_step[(departure.departure + slow - START) // STEP][departure.origin].append(departure)
    for step in sorted(by_step):
        yield [
            rows[desk::FILES]
            for _, rows in sorted(by_step[step].items())
            for desk in reversed(range(FILES))
            if rows[desk::FILES]
        ]
    # It moves the watermark past all others, so that none of them waits any longer.
    yield [[Departure(START + timedelta(days=DAYS + 1), "last", "last")]]


def truth(all_: Sequence[Departure]) -> set[Transition]:
    """Every departure with the next one from the same airport, by event time."""
    by_airport: dict[str, list[Departure]] = defaultdict(list)
    for departure in sorted(all_):
        by_airport[departure.origin].append(departure)
    return {pair for own in by_airport.values() for pair in pairwise(own)}
