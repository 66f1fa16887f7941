"""One engine's worker: a process of its own, because extensions are set as a JVM begins.

Says on stdout how far it is; leaves its outcomes in a file.

    python -m flights_weather.worker stock FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from common.engines import Engine, engine_of
from common.folder import fast_folder
from common.session import session
from common.telling import leave, say_steps

from .clock import STEPS
from .replay import Replay
from .runs import runs_of
from .watching import watching


def main(engine: Engine, folder: Path) -> None:
    """Runs everything this engine has to run."""
    with fast_folder("flights-weather-") as work:
        _run(engine, folder, work)


def _run(engine: Engine, folder: Path, work: Path) -> None:
    spark = session(engine, work, "flights")
    outcomes = []
    for run in runs_of(engine):
        steps = 0

        def stepped() -> None:
            nonlocal steps
            steps += 1
            say_steps(1)

        replay = Replay(spark, run, folder / "data", work)
        outcomes.append(replay.play(stepped, watching(engine, replay.outcome)))
        # A query that was refused has no more steps: the progress bar must not wait.
        say_steps(STEPS - steps)
    spark.stop()
    leave([outcome.to_json() for outcome in outcomes], engine, folder)


if __name__ == "__main__":
    main(engine_of(sys.argv[1]), Path(sys.argv[2]))
