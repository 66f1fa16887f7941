"""One engine's worker: a process of its own, because extensions are set as a JVM begins.

Says on stdout, a line of JSON each, how far it is; leaves its outcomes in a file.

    python -m flights_weather.worker stock FOLDER
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory
from typing import Any, get_args

from .clock import STEPS
from .replay import Replay
from .runs import Engine, runs_of
from .session import session
from .watching import watching


def main(engine: Engine, folder: Path) -> None:
    """Runs everything this engine has to run."""
    with TemporaryDirectory(prefix="flights-weather-", dir=_memory()) as work:
        _run(engine, folder, Path(work))


def _memory() -> str | None:
    """Where checkpoints are not written to a disk, each file with a wait for it; None if nowhere."""
    shared = Path("/dev/shm")
    roomy = shared.is_dir() and os.access(shared, os.W_OK) and disk_usage(shared).free > 1 << 30
    return str(shared) if roomy else None


def _run(engine: Engine, folder: Path, work: Path) -> None:
    spark = session(engine, work)
    outcomes = []
    for run in runs_of(engine):
        steps = 0

        def stepped() -> None:
            nonlocal steps
            steps += 1
            _say(steps=1)

        replay = Replay(spark, run, folder / "data", work)
        outcomes.append(replay.play(stepped, watching(engine, replay.outcome)))
        # A query that was refused has no more steps: the progress bar must not wait.
        _say(steps=STEPS - steps)
    spark.stop()
    text = json.dumps([outcome.to_json() for outcome in outcomes], indent=1)
    (folder / f"{engine}.json").write_text(text, encoding="utf-8")


def _say(**fact: Any) -> None:
    print(json.dumps(fact), flush=True)


if __name__ == "__main__":
    named: dict[str, Engine] = {engine: engine for engine in get_args(Engine)}
    main(named[sys.argv[1]], Path(sys.argv[2]))
