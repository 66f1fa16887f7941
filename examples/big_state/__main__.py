"""Runs both engines one after the other, compares their rows, and prints a table."""

from __future__ import annotations

from shutil import rmtree

from common.engines import ENGINES, NAMES, Engine
from common.folder import out_folder
from common.workers import run_all

from . import inputs
from .outcome import Outcome
from .picture import draw
from .promise import differences
from .table import table


def main() -> None:
    folder = out_folder("big-state")
    flights = inputs.flights()
    rmtree(folder / "inputs", ignore_errors=True)
    files = inputs.write(flights, inputs.INPUTS, folder / "inputs")
    print(
        f"Flights of January 2001 by route and minute of the day, in one window of a month:\n"
        f"{len(files)} inputs of {inputs.HOURS} hours, one by one, on one engine after the other.\n",
        flush=True,
    )
    counted = inputs.counted(flights)
    outcomes: dict[Engine, Outcome] = {}
    broken: list[str] = []
    for engine in ENGINES:
        # Not side by side, because times are compared.
        documents = run_all(
            "big_state.worker", folder, {engine: len(files)}, str(folder / "inputs")
        )
        outcomes[engine] = Outcome.from_json(documents[engine])
        broken += differences(NAMES[engine], outcomes[engine], counted)
    print("\n" + table(outcomes))
    for picture in (folder / "state-size.png", folder / "state-size.svg"):
        draw(outcomes, picture)
        print(f"\nThe picture: {picture}")
    if broken:
        raise SystemExit("\n".join(["\nThese are not the rows of the flights:", *broken]))
    print(f"\nBoth engines emitted the same {len(counted):,} rows.")


if __name__ == "__main__":
    main()
