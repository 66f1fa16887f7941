"""Starts a worker per engine, both at once, and watches how far they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from time import sleep

from tqdm import tqdm

from .clock import STEPS
from .outcome import Outcome
from .runs import ENGINES, Engine, runs_of


def run_all(folder: Path) -> dict[Engine, list[Outcome]]:
    """Both engines' outcomes.

    Raises:
        SystemExit: a worker failed; says so with the end of its log.
    """
    total = STEPS * sum(len(runs_of(engine)) for engine in ENGINES)
    with tqdm(total=total, desc="replaying", unit="step", smoothing=0.1) as bar:
        workers = {engine: _start(engine, folder) for engine in ENGINES}
        readers = [Thread(target=_follow, args=(w, bar), daemon=True) for w in workers.values()]
        for reader in readers:
            reader.start()
        try:
            failed = _wait(workers)
        finally:
            for worker in workers.values():
                worker.terminate()
                worker.wait()
        for reader in readers:
            reader.join()
    if failed:
        log = log_of(failed, folder)
        raise SystemExit(f"The {failed} worker failed. The end of {log}:\n{_tail(log)}")
    return {engine: _outcomes(engine, folder) for engine in ENGINES}


def log_of(engine: Engine, folder: Path) -> Path:
    """Where a worker's own and its JVM's words go: the demo's output stays readable."""
    return folder / f"{engine}.log"


def _start(engine: Engine, folder: Path) -> subprocess.Popen[str]:
    (folder / f"{engine}.json").unlink(missing_ok=True)
    package = Path(__file__).parent
    paths = [str(package.parent), os.environ.get("PYTHONPATH", "")]
    with log_of(engine, folder).open("w", encoding="utf-8") as log:
        return subprocess.Popen(
            [sys.executable, "-m", f"{package.name}.worker", engine, str(folder)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


def _follow(worker: subprocess.Popen[str], bar: tqdm[None]) -> None:
    assert worker.stdout is not None
    for line in worker.stdout:
        # The JVM shares the worker's stdout: what is not a line of ours is not for us.
        if line.startswith('{"steps"'):
            bar.update(json.loads(line)["steps"])


def _wait(workers: Mapping[Engine, subprocess.Popen[str]]) -> Engine | None:
    """Waits until all are done, or until one has failed: the others' work is lost then."""
    while True:
        codes = {engine: worker.poll() for engine, worker in workers.items()}
        for engine, code in codes.items():
            if code:
                return engine
        if None not in codes.values():
            return None
        sleep(0.2)


def _outcomes(engine: Engine, folder: Path) -> list[Outcome]:
    documents = json.loads((folder / f"{engine}.json").read_text(encoding="utf-8"))
    return [Outcome.from_json(document) for document in documents]


def _tail(log: Path, lines: int = 25) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
