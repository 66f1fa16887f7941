"""Programs in processes of their own: the tests' scripts, which start their own Spark, and the examples."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

SCRIPTS = Path(__file__).parent.parent / "scripts"
EXAMPLES = SCRIPTS.parent.parent / "examples"
_RESULT = "RESULT "
# These JVMs are short-lived: the second, slower compiler would only cost processor time. With the first compiler
# alone, the default code cache is too small, so code would be compiled again and again. A process for a file, such as
# chmod, starts cheaply.
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m "
    "-Djdk.lang.Process.launchMechanism=VFORK"
)
# How long something that must come is waited for: less than any test may take.
PATIENCE_SECONDS = 90
# A program is given up as long before its test is ended, to say what it has printed.
_MARGIN_SECONDS = 15
_seconds_of_test: float | None = None


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """The block is a test that may take so long; none of its programs runs as long."""
    global _seconds_of_test
    _seconds_of_test = seconds
    try:
        yield
    finally:
        _seconds_of_test = None


def clean_environment(**changes: str) -> dict[str, str]:
    """The environment without variables that a Spark session of this process has set."""
    ours = ("PYSPARK_", "SPARK_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    path = os.pathsep.join([str(SCRIPTS.parent), str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
    fixed = {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": JAVA_OPTIONS,
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
        done = run_program(command, folder, **environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith(_RESULT)]
    tail = f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    assert done.returncode == 0 and lines, tail
    found: dict[str, Any] = json.loads(lines[-1].removeprefix(_RESULT))
    return found


def run_example(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m <module>` in the folder of the examples. The caller checks the exit code."""
    return run_program([sys.executable, "-m", module, *arguments], EXAMPLES)


def run_program(
    command: list[str], folder: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, with `folder` as its working directory.

    Raises:
        AssertionError: It has not ended, and the test has to end soon. Has what it has printed, and its JVMs' threads.
    """
    program = subprocess.Popen(
        command,
        cwd=folder,
        env=clean_environment(**environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    seconds = _seconds_of_test - _MARGIN_SECONDS if _seconds_of_test else None
    try:
        out, error = program.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        threads = threads_of_jvms(program.pid)
        _kill(program)
        out, error = program.communicate()
        raise AssertionError(
            f"{' '.join(command)} has not ended after {seconds} s\n{out[-2000:]}\n{error[-6000:]}\n{threads}"
        ) from None
    except BaseException:
        _kill(program)
        raise
    return subprocess.CompletedProcess(command, program.returncode, out, error)


def _kill(program: subprocess.Popen[str]) -> None:
    # Python and the JVM that it started form one process group, led by Python.
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)


def threads_of_jvms(parent: int) -> str:
    """The stacks of all threads of the JVMs that a process has started, by the JDK's jcmd."""
    found = []
    for process in psutil.Process(parent).children(recursive=True):
        with suppress(psutil.Error, OSError, subprocess.TimeoutExpired):
            if process.name() == "java":
                command = ["jcmd", str(process.pid), "Thread.print"]
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=10, check=False
                )
                found.append(done.stdout + done.stderr)
    return "\n".join(found)


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
        _kill(program)
        program.communicate()
