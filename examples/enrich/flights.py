"""The input: New York's departures of some days, and how many of them leave from each gate in each hour."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from flights_weather.data import flights, scheduled

from .plan import gate_of

START = datetime(2013, 11, 1)
DAYS = 20
BATCHES = 4
FILES = 2
"""Of a batch. Each is read by a task of its own."""

Counted = Mapping[tuple[datetime, str], int]
"""Departures by hour and gate."""


class Departure(NamedTuple):
    """A flight that departed."""

    departure: datetime
    id: int
    aircraft: str


def departures(days: int = DAYS) -> list[Departure]:
    """All departures of the replay, in the order of their event times."""
    end = START + timedelta(days=days)
    times = sorted(
        (scheduled(line) + timedelta(minutes=float(line["dep_delay"])), line["tailnum"])
        for line in flights()
        # Parsing the other months would take longer than the replay.
        if line["month"] == "11" and line["dep_delay"] not in ("", "NA") and scheduled(line) < end
    )
    return [Departure(time, number, aircraft) for number, (time, aircraft) in enumerate(times)]


def write(all_: Sequence[Departure], folder: Path) -> None:
    """Writes the departures as the files of some batches, which are read in the order of their names.

    The last batch has a row of a later day, which moves the watermark past all others.
    """
    folder.mkdir(parents=True)
    size = -(-len(all_) // BATCHES)
    batches = [all_[begin : begin + size] for begin in range(0, len(all_), size)]
    last = Departure(all_[-1].departure + timedelta(days=2), len(all_), "last")
    files = [batch[at::FILES] for batch in batches for at in range(FILES)] + [[last]]
    for number, rows in enumerate(files):
        lines = [
            json.dumps({**row._asdict(), "departure": row.departure.isoformat()}) for row in rows
        ]
        file = folder / f"{number:02}.json"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        # Spark reads files by their modification times.
        os.utime(file, (number, number))


def truth(all_: Sequence[Departure]) -> Counted:
    """What the query has to emit, but for the last row."""
    return Counter(
        (flight.departure.replace(minute=0, second=0), gate_of(flight.id)) for flight in all_
    )
