"""The inputs: a Parquet file of flights for each half day, and what a count of them is."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from backlog.flights import departures

if TYPE_CHECKING:
    from pyarrow import Table

FIRST = datetime(2001, 1, 1)
MONTH_ENDS = datetime(2001, 2, 1)
HOURS = 12
INPUTS = 31 * 24 // HOURS + 1
"""Those of January, and one of February, which ends the window."""

Group = tuple[str, str, int]
"""Origin, destination, and minute of the day."""


def end_of(number: int) -> datetime:
    """Up to when an input has flights.

    >>> end_of(3)
    datetime.datetime(2001, 1, 3, 0, 0)
    """
    return FIRST + timedelta(hours=HOURS * (number + 1))


def flights(inputs: int = INPUTS) -> Table:
    """The flights of so many inputs, in the order of their times."""
    return departures(["date", "origin", "destination"], end_of(inputs - 1))


def write(table: Table, inputs: int, folder: Path) -> list[Path]:
    """Writes a file for each input; returns the files in order."""
    from pyarrow import compute, parquet

    folder.mkdir(parents=True)
    # The file has no whole rows of one time in two inputs: each input is a range of times.
    times = table["date"]
    files = []
    for number in range(inputs):
        begin = FIRST if number == 0 else end_of(number - 1)
        within = compute.and_(
            compute.greater_equal(times, begin), compute.less(times, end_of(number))
        )
        files.append(folder / f"{number:03}.parquet")
        parquet.write_table(
            table.filter(within).rename_columns(["time", "origin", "destination"]), files[-1]
        )
    return files


def counted(table: Table) -> Counter[Group]:
    """How many flights each group has in January: what both engines have to emit."""
    columns = (table[name].to_pylist() for name in ("date", "origin", "destination"))
    return Counter(
        (origin, destination, time.hour * 60 + time.minute)
        for time, origin, destination in zip(*columns, strict=True)
        if time < MONTH_ENDS
    )
