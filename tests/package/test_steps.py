"""`build/steps.py`, which runs the steps of `make test` and prints the table of `make test-all`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import steps
from support.processes import run_program, within

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture(autouse=True)
def own_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "RESULTS", tmp_path)


def counted(passed: int, failed: int, skipped: int) -> list[str]:
    """A command that has run so many tests."""
    code = "import os; open(os.environ['TIDEMARK_COUNTS'], 'a').write"
    return [sys.executable, "-c", f"{code}('{passed} {failed} {skipped}\\n')"]


def test_a_step_keeps_its_minutes_and_its_tests(capfd: pytest.CaptureFixture[str]) -> None:
    assert steps.run("some", "Scala", counted(3, 0, 1)) == 0
    assert steps.run("some", "Python", counted(4, 0, 0)) == 0
    steps.print_minutes("some")
    lines = capfd.readouterr().out.splitlines()
    assert [line.split(" min  ")[1] for line in lines] == ["Scala", "Python", "make some"]


def test_a_step_fails_if_it_leaves_a_process_running(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(steps, "GRACE_SECONDS", 0.1)
    start = f"import subprocess; subprocess.Popen({SLEEP!r})"
    assert steps.run("some", "Python", [sys.executable, "-c", start]) == 1
    errors = capfd.readouterr().err
    assert "make some, Python: left running: " in errors
    assert "time.sleep(60)" in errors


def test_a_step_fails_if_fewer_tests_pass_than_it_has(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(steps.FEWEST, "some Python", 5)
    assert steps.run("some", "Python", counted(5, 0, 0)) == 0
    assert steps.run("some", "Python", counted(4, 0, 1)) == 1
    assert "4 tests have passed, where there should be 5" in capfd.readouterr().err


def test_all_parts_are_made_even_if_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    make = tmp_path / "make"
    # Called as `make --no-print-directory TARGET`.
    make.write_text(f"#!{sys.executable}\nimport sys\nsys.exit(sys.argv[2] == 'first')\n")
    make.chmod(0o755)
    monkeypatch.setenv("MAKE", str(make))
    assert steps.make_all(["first", "second"]) == 1
    rows = capfd.readouterr().out.splitlines()[-3:]
    assert [row.split()[0] for row in rows] == ["first", "second", "all"]
    assert [row.endswith("FAILED") for row in rows] == [True, False, True]
    assert steps.make_all(["second"]) == 0


def test_a_program_that_hangs_is_ended_and_what_it_has_printed_is_shown(tmp_path: Path) -> None:
    hangs = [sys.executable, "-c", "print('begun', flush=True); import time; time.sleep(60)"]
    with within(seconds=20), pytest.raises(AssertionError, match="has not ended after 5 s\nbegun"):
        run_program(hangs, tmp_path)
