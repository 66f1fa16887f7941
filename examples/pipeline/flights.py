"""The input: what each airport reports of its flights, in steps of ten minutes.

Flights of New York's three airports, by the clock on the airport's wall. LaGuardia's link is down for two
hours, and then brings all that has happened meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from flights_weather.clock import HOUR
from flights_weather.data import AIRPORTS, departure_row, flights, scheduled

STEP = timedelta(minutes=10)
START = datetime(2013, 11, 1, 8)
STEPS = 51
HOURS = [START + hour * HOUR for hour in range(7)]
"""The hours that are measured. Every query emits them before the replay ends."""

DOWN_AIRPORT = "LGA"
DOWN_FROM = START + timedelta(hours=2)
DOWN_TO = START + timedelta(hours=4)


class Report(NamedTuple):
    """A flight, reported when it departs; or a canceled one, reported when it was to depart."""

    time: datetime
    origin: str
    departed: bool

    def to_json(self) -> dict[str, str | None]:
        departure = self.time.isoformat() if self.departed else None
        return {"origin": self.origin, "departure": departure}


Step = Mapping[str, list[Report]]
"""What arrives in one step, by airport."""


def steps() -> list[Step]:
    """What arrives in each step."""
    found: list[Step] = [{airport: [] for airport in AIRPORTS} for _ in range(STEPS)]
    for line in flights():
        # No flight of the replay was to depart on another day.
        if (line["month"], line["day"]) == ("11", "1"):
            reported = report(line)
            step = arrives(reported)
            if step is not None:
                found[step][reported.origin].append(reported)
    return found


def report(line: Mapping[str, str]) -> Report:
    """What an airport says of one flight."""
    row = departure_row(line)
    time = scheduled(line) if row is None else datetime.fromisoformat(row["departure"])
    return Report(time, line["origin"], row is not None)


def arrives(reported: Report) -> int | None:
    """The step in which a report arrives. None: outside the replay.

    >>> [arrives(Report(datetime(2013, 11, 1, 10, 20), airport, True)) for airport in ("JFK", "LGA")]
    [14, 24]
    """
    down = reported.origin == DOWN_AIRPORT and DOWN_FROM <= reported.time < DOWN_TO
    step = ((DOWN_TO if down else reported.time) - START) // STEP
    return step if reported.time >= START and step < STEPS else None


def reached(step: int) -> datetime:
    """The event time that the airports have reached when a step is over.

    >>> reached(0)
    datetime.datetime(2013, 11, 1, 8, 10)
    """
    return START + (step + 1) * STEP
