"""Programs that start their own Spark and print their findings as one line of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent.parent / "scripts"
_RESULT = "RESULT "


def clean_environment(**changes: str) -> dict[str, str]:
    """The environment without variables that a Spark session of this process has set."""
    ours = ("PYSPARK_", "SPARK_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    path = os.pathsep.join([str(SCRIPTS.parent), os.environ.get("PYTHONPATH", "")])
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
    # A session leaves a warehouse folder in its working directory.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*(launcher or [sys.executable]), str(SCRIPTS / name), *arguments],
            cwd=folder,
            env=clean_environment(**environment),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith(_RESULT)]
    tail = f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    assert done.returncode == 0 and lines, tail
    found: dict[str, Any] = json.loads(lines[-1].removeprefix(_RESULT))
    return found


def result(**findings: object) -> None:
    """Called by a script: passes its findings to `run_script`."""
    print(_RESULT + json.dumps(findings), flush=True)
