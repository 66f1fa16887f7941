"""The parts of the two backlog examples that need no Spark, and invented flights."""

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
    """Creates `many` flights from an airport, one per hour."""
    hour = timedelta(hours=1)
    return [flights.Flight(first + n * hour, origin, "SFO", 0) for n in range(many)]
