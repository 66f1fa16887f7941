"""One engine's worker: a process of its own, because extensions are set as a JVM begins.

Says on stdout how far it is; leaves its outcomes in a file.

    python -m flights_weather.worker stock FOLDER
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common.engines import Engine, engine_of
from common.folder import fast_folder
from common.session import session
from common.telling import leave, say_steps

from .clock import STEPS
from .outcome import Outcome
from .replay import Replay
from .runs import Run, runs_of
from .watching import watching

SETTINGS = {
    # With few rows in a batch, generating code for every new watermark costs more than interpreting.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

AT_ONCE = 2
"""How many of its runs a worker plays at a time."""


def main(engine: Engine, folder: Path) -> None:
    """Runs everything this engine has to run."""
    with fast_folder("flights-weather-") as work:
        _run(engine, folder, work)


def _run(engine: Engine, folder: Path, work: Path) -> None:
    spark = session(engine, work, "flights", SETTINGS)

    def play(run: Run) -> Outcome:
        steps = 0

        def stepped() -> None:
            nonlocal steps
            steps += 1
            say_steps(1)

        replay = Replay(spark, run, folder / "data", work)
        outcome = replay.play(stepped, watching(engine, replay.outcome))
        # A query that was refused has no more steps: the progress bar must not wait.
        say_steps(STEPS - steps)
        return outcome

    # One engine has more to run than the other: alone at the end, one run would leave a core idle.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(play, runs_of(engine)))
    spark.stop()
    leave([outcome.to_json() for outcome in outcomes], engine, folder)


if __name__ == "__main__":
    main(engine_of(sys.argv[1]), Path(sys.argv[2]))
