"""The demo, from the data to the table, the picture and the report."""

from __future__ import annotations

from typing import Any

from common.engines import ENGINES
from common.folder import out_folder
from common.workers import run_all

from . import files
from .clock import STEPS
from .outcome import Outcome
from .picture import draw
from .promise import broken
from .runs import runs_of
from .table import render, results


def main() -> None:
    """Runs everything and prints what came of it.

    Raises:
        SystemExit: the departures of part 1 did not come out by Tidemark as they do alone.
    """
    folder = out_folder("demo")
    prepared = files.prepare(folder / "data")
    departed = files.departed(prepared)
    print(
        "A night of flights and weather: 36 hours of New York's airports from 2013-11-02 00:00,\n"
        "one hour per step, the same queries on the same files by stock Spark and by Tidemark.\n",
        flush=True,
    )
    steps = {engine: STEPS * len(runs_of(engine)) for engine in ENGINES}
    documents = run_all("flights_weather.worker", folder, steps)
    outcomes = {engine: _outcomes(documents[engine]) for engine in ENGINES}
    found = [
        result
        for engine, of_engine in outcomes.items()
        for result in results(engine, of_engine, departed)
    ]
    print("\n" + render(found))

    draw(found, prepared, folder / "watermarks.png")
    print(f"\nThe picture: {folder / 'watermarks.png'}")
    for outcome in outcomes["tidemark"]:
        if (outcome.part, outcome.silent) == ("flights_with_weather", True):
            print("\ntidemark.report(query), part 2 with the weather silent, at the end:\n")
            print(outcome.report)
    differences = broken(found)
    if differences:
        raise SystemExit("\n".join(["\nThe demo did not show what it promises:", *differences]))


def _outcomes(documents: list[dict[str, Any]]) -> list[Outcome]:
    return [Outcome.from_json(document) for document in documents]


if __name__ == "__main__":
    main()
