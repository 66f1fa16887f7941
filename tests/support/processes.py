"""Programs in processes of their own: the tests' scripts, which start their own Spark, and the examples."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent.parent / "scripts"
EXAMPLES = SCRIPTS.parent.parent / "examples"
_RESULT = "RESULT "
PATIENCE_SECONDS = 120


def clean_environment(**changes: str) -> dict[str, str]:
    """The environment without variables that a Spark session of this process has set."""
    ours = ("PYSPARK_", "SPARK_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    path = os.pathsep.join([str(SCRIPTS.parent), str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
    fixed = {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": path,
    }
    return {**kept, **fixed, **changes}


def run_script(
    name: str, *arguments: str, launcher: list[str] | None = None, **environment: str
) -> dict[str, Any]:
    """Runs `scripts/<name>` and returns the findings that it passed to `result`."""
    command = [*(launcher or [sys.executable]), str(SCRIPTS / name), *arguments]
    # A session leaves a warehouse folder in its working directory.
    with tempfile.TemporaryDirectory() as folder:
        done = _run(command, folder, **environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith(_RESULT)]
    tail = f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    assert done.returncode == 0 and lines, tail
    found: dict[str, Any] = json.loads(lines[-1].removeprefix(_RESULT))
    return found


def run_example(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m <module>` in the folder of the examples. The caller checks the exit code."""
    return _run([sys.executable, "-m", module, *arguments], EXAMPLES)


def _run(
    command: list[str], folder: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def result(**findings: object) -> None:
    """Called by a script: passes its findings to `run_script`."""
    print(_RESULT + json.dumps(findings), flush=True)


def killed_once_there_is(sign: Path, command: list[str], *, later_seconds: float = 0) -> None:
    """Starts an endless program, and kills it once the file `sign` exists and is not empty."""
    program = subprocess.Popen(
        command,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not (sign.exists() and sign.stat().st_size):
            assert program.poll() is None, program.communicate()[1][-4000:]
            assert time.monotonic() < give_up, f"{sign} never came"
            time.sleep(0.002)
        time.sleep(later_seconds)
    finally:
        # Python and the JVM that it started form one process group, led by Python.
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
