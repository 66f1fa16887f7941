"""Runs the steps of `make test` and of other targets that test: their minutes, their tests, what they leave running.

    python build/steps.py run TARGET STEP COMMAND...  runs one step of a target
    python build/steps.py sum TARGET                  prints the minutes of a target's steps
    python build/steps.py all TARGET...               makes each target, even if one fails, and prints a table

A command that runs tests appends a line `passed failed skipped` to the file that the variable TIDEMARK_COUNTS names.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

import psutil

RESULTS = Path(__file__).resolve().parent.parent / "target" / "steps"
# A process that was told to end may take this long.
GRACE_SECONDS = 30
# How many tests pass at least in a step of a target: a filter or a move that loses some is noticed.
FEWEST = {
    "check Scala": 370,
    "check Python": 1000,
    "test Scala": 1080,
    "test Python": 1650,
    "test-more-scala Scala": 425,
    "test-more-python Python": 235,
    "test-kafka Python": 40,
    "test-kills Python": 7,
    "test-examples Python": 5,
    "test-docs Python": 14,
}


@dataclass(frozen=True)
class Result:
    """How a step or a target went.

    Attributes:
        name: The step or the target.
        code: The exit code.
        seconds: What it took.
        passed: How many tests passed.
        failed: How many tests failed.
        skipped: How many tests were skipped.
    """

    name: str
    code: int
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0


def run(target: str, step: str, command: list[str]) -> int:
    """Runs a step, and keeps its result. A step that leaves a process running fails."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    counts = RESULTS / f"{target} {step}.counts"
    counts.unlink(missing_ok=True)
    # All processes that the step starts inherit it, and so do those that they start.
    mark = f"{os.getpid()} {time.time()}"
    environment = {**os.environ, "TIDEMARK_COUNTS": str(counts), "TIDEMARK_STEP": mark}
    begin = time.monotonic()
    code = subprocess.call(command, env=environment)
    seconds = time.monotonic() - begin
    for process in _left_running(mark):
        code = code or 1
        print(f"make {target}, {step}: left running: {process}", file=sys.stderr)
    lines = counts.read_text().splitlines() if counts.exists() else []
    tests = [tuple(map(int, line.split())) for line in lines]
    passed, failed, skipped = (sum(column) for column in zip((0, 0, 0), *tests, strict=True))
    fewest = FEWEST.get(f"{target} {step}", 0)
    if not code and passed < fewest:
        code = 1
        print(f"{passed} tests have passed, where there should be {fewest}", file=sys.stderr)
    with _file(target).open("a") as results:
        print(
            *astuple(Result(step, code, seconds, passed, failed, skipped)), sep="\t", file=results
        )
    return code


def print_minutes(target: str) -> None:
    """Prints the minutes of a target's steps."""
    steps = _results(target)
    for step in [*steps, _sum(f"make {target}", steps)]:
        print(f"{step.seconds / 60:6.1f} min  {step.name}")


def make_all(targets: list[str]) -> int:
    """Makes each target, and prints a table; the exit code is 0 if all of them succeeded."""
    rows = []
    for target in targets:
        _file(target).unlink(missing_ok=True)
        begin = time.monotonic()
        code = subprocess.call([os.environ.get("MAKE", "make"), "--no-print-directory", target])
        tests = astuple(_sum(target, _results(target)))[3:]
        rows.append(Result(target, code, time.monotonic() - begin, *tests))
    width = max(map(len, targets))
    print(f"\n{'part':{width}}  minutes  passed  failed  skipped")
    for row in [*rows, _sum("all", rows)]:
        print(
            f"{row.name:{width}}  {row.seconds / 60:7.1f}  {row.passed:6}  {row.failed:6}  {row.skipped:7}"
            + ("  FAILED" if row.code else "")
        )
    return int(any(row.code for row in rows))


def _left_running(mark: str) -> list[str]:
    """The processes of a step that still run a while after its end. They are killed."""
    give_up = time.monotonic() + GRACE_SECONDS
    while (found := _processes(mark)) and time.monotonic() < give_up:
        time.sleep(0.2)
    names = []
    for process in found:
        with suppress(psutil.Error):
            names.append(f"{process.pid} {' '.join(process.cmdline())[:300]}")
            process.kill()
    return names


def _processes(mark: str) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["environ", "status"])
        if (process.info["environ"] or {}).get("TIDEMARK_STEP") == mark
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def _file(target: str) -> Path:
    return RESULTS / f"{target}.tsv"


def _results(target: str) -> list[Result]:
    if not _file(target).exists():
        return []
    rows = [line.split("\t") for line in _file(target).read_text().splitlines()]
    return [
        Result(name, int(code), float(seconds), *map(int, tests))
        for name, code, seconds, *tests in rows
    ]


def _sum(name: str, parts: list[Result]) -> Result:
    columns = list(zip(*(astuple(part)[2:] for part in parts), strict=True)) or [(0.0,)]
    return Result(name, max((part.code for part in parts), default=0), *map(sum, columns))


def main() -> int:
    match sys.argv[1:]:
        case ["run", target, step, *command]:
            return run(target, step, command)
        case ["sum", target]:
            print_minutes(target)
            return 0
        case ["all", *targets]:
            return make_all(targets)
    raise SystemExit(__doc__)


if __name__ == "__main__":
    raise SystemExit(main())
