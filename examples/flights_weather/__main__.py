"""The demo, from the data to the table, the picture and the report."""

from __future__ import annotations

from pathlib import Path

from . import files
from .picture import draw
from .promise import broken
from .table import render, results
from .workers import run_all

FOLDER = Path(__file__).resolve().parents[2] / "out" / "demo"


def main() -> None:
    """Runs everything and prints what came of it.

    Raises:
        SystemExit: the departures of part 1 did not come out by Tidemark as they do alone.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    # Nothing in here is for git, and git need not be told anywhere else.
    (FOLDER / ".gitignore").write_text("*\n", encoding="utf-8")
    prepared = files.prepare(FOLDER / "data")
    departed = files.departed(prepared)
    print(
        "A night of flights and weather: 36 hours of New York's airports from 2013-11-02 00:00,\n"
        "one hour per step, the same queries on the same files by stock Spark and by Tidemark.\n",
        flush=True,
    )
    outcomes = run_all(FOLDER)
    found = [
        result
        for engine, of_engine in outcomes.items()
        for result in results(engine, of_engine, departed)
    ]
    print("\n" + render(found))

    draw(found, prepared, FOLDER / "watermarks.png")
    print(f"\nThe picture: {FOLDER / 'watermarks.png'}")
    for outcome in outcomes["tidemark"]:
        if (outcome.part, outcome.silent) == ("flights_with_weather", True):
            print("\ntidemark.report(query), part 2 with the weather silent, at the end:\n")
            print(outcome.report)
    differences = broken(found)
    if differences:
        raise SystemExit("\n".join(["\nThe demo did not show what it promises:", *differences]))


if __name__ == "__main__":
    main()
