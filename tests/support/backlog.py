"""The pure pieces of the two backlogs, and flights that are made up."""

from __future__ import annotations

from datetime import datetime, timedelta

from backlog import (
    clock,
    files_per_airport,
    flights,
    lagging_partition,
    oracle,
    promise,
    quota,
    show,
    table,
    told,
)

__all__ = [
    "clock",
    "files_per_airport",
    "flights",
    "flights_from",
    "lagging_partition",
    "oracle",
    "promise",
    "quota",
    "show",
    "table",
    "told",
]


def flights_from(origin: str, many: int, first: datetime) -> list[flights.Flight]:
    """As many flights from an airport, one an hour."""
    hour = timedelta(hours=1)
    return [flights.Flight(first + n * hour, origin, "SFO", 0) for n in range(many)]
