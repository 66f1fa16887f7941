"""A backlog of files: the twenty busiest airports, each with the same share of every batch.

Every airport writes its flights into files of 500 rows. A batch reads one file of each,
so a small airport is weeks ahead of a large one after a few batches. An airport without
more flights keeps writing files, with nothing in them.

    python -m backlog.files_per_airport
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from common.folder import out_folder

from .case import Case
from .clock import seconds
from .flights import Flight, busiest, january
from .oracle import Batch
from .show import show

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AIRPORTS = 20
ROWS = 500
"""Rows in a file, but for an airport's last ones."""

Files = dict[str, list[list[Flight]]]
"""Of each airport, the rows of each of its files."""


def read(spark: SparkSession, folder: str) -> DataFrame:
    """A batch reads one file for each airport, the oldest first."""
    stream = spark.readStream.schema("time TIMESTAMP, origin STRING")
    return stream.option("maxFilesPerTrigger", str(AIRPORTS)).json(folder)


CASE = Case("files_per_airport", split="origin", split_by="origin", read=read)


def files_of(flights: list[Flight], airports: int = AIRPORTS, rows: int = ROWS) -> Files:
    """Cuts the flights of the busiest airports into files, the same number for each."""
    origins = busiest(flights, airports)
    by_origin: dict[str, list[Flight]] = {origin: [] for origin in origins}
    for flight in flights:
        if flight.origin in by_origin:
            by_origin[flight.origin].append(flight)
    most = len(by_origin[origins[0]])
    return {
        origin: [of_origin[first : first + rows] for first in range(0, most, rows)]
        for origin, of_origin in by_origin.items()
    }


def in_batches(files: Files) -> list[Batch]:
    """What each batch reads: the next file of every airport."""
    return [
        {
            origin: [seconds(flight.time) for flight in file]
            for origin, file in zip(files, batch, strict=True)
        }
        for batch in zip(*files.values(), strict=True)
    ]


def write(files: Files, folder: Path) -> None:
    """Writes the files, and dates them apart in the order in which they are to be read."""
    folder.mkdir(parents=True)
    dated = 1_000_000_000
    for number, batch in enumerate(zip(*files.values(), strict=True)):
        for origin, file in zip(files, batch, strict=True):
            path = folder / f"{number:02}-{origin}.json"
            lines = (json.dumps(flight.to_json()) + "\n" for flight in file)
            path.write_text("".join(lines), encoding="utf-8")
            dated += 1
            os.utime(path, (dated, dated))


def prepare(files: Files, folder: Path) -> Path:
    """Makes the folder of files, unless it exists; returns it."""
    if not folder.is_dir():
        unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
        write(files, unfinished)
        # Renamed when whole: a run that was stopped half way leaves nothing half made.
        unfinished.rename(folder)
    return folder


def main() -> None:
    files = files_of(january())
    folder = out_folder("files-per-airport")
    print(
        f"A backlog of files: January 2001 of the {AIRPORTS} busiest airports, {ROWS:,} rows a file,\n"
        "each batch reads one file of every airport. Hourly departures per airport.\n",
        flush=True,
    )
    show(CASE, in_batches(files), folder, str(prepare(files, folder / f"files-of-{ROWS}")))


if __name__ == "__main__":
    main()
