"""Starts a worker per engine, both at the same time, and watches how far they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

from tqdm import tqdm

from .engines import Engine
from .telling import outcome_file, steps_said

EXAMPLES = Path(__file__).resolve().parents[1]


def run_all(
    module: str, folder: Path, steps: Mapping[Engine, int], *arguments: str
) -> dict[Engine, Any]:
    """Each engine's outcome, as its worker left it.

    Args:
        module: what a worker runs, as ``python -m module engine folder *arguments``.
        folder: for the workers' outcomes and logs.
        steps: how many steps each engine's worker is going to say: the progress bar's length.
        arguments: handed on to the workers.

    Raises:
        SystemExit: a worker failed; says so with the end of its log.
    """
    with tqdm(total=sum(steps.values()), desc="replaying", unit="step", smoothing=0.1) as bar:
        workers = {engine: _start(module, engine, folder, arguments) for engine in steps}
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
    return {
        engine: json.loads(outcome_file(engine, folder).read_text(encoding="utf-8"))
        for engine in steps
    }


def log_of(engine: Engine, folder: Path) -> Path:
    """Where a worker's own and its JVM's words go: the example's output stays readable."""
    return folder / f"{engine}.log"


def _start(
    module: str, engine: Engine, folder: Path, arguments: tuple[str, ...]
) -> subprocess.Popen[str]:
    outcome_file(engine, folder).unlink(missing_ok=True)
    paths = [str(EXAMPLES), os.environ.get("PYTHONPATH", "")]
    with log_of(engine, folder).open("w", encoding="utf-8") as log:
        return subprocess.Popen(
            [sys.executable, "-m", module, engine, str(folder), *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


def _follow(worker: subprocess.Popen[str], bar: tqdm[None]) -> None:
    assert worker.stdout is not None
    for line in worker.stdout:
        bar.update(steps_said(line))


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


def _tail(log: Path, lines: int = 25) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
