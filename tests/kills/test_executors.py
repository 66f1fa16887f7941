"""Executors killed with `kill -9`, and tasks that run twice, while queries run on a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes import run_script

pytestmark = [pytest.mark.kill, pytest.mark.timeout(600)]


def test_killed_executors_do_not_change_results_or_late_row_counts(tmp_path: Path) -> None:
    found = run_script("cluster_kill.py", str(tmp_path))
    straight = found["straight"]
    assert len(straight["rows"]) > 2
    assert sum(rows for _, rows in straight["late"]) > 0
    assert (straight["died"], straight["reran"]) == (False, False)
    for where in ("reading", "counting"):
        assert found[where]["died"]
        assert found[where]["rows"] == straight["rows"], where
        assert found[where]["late"] == straight["late"], where
    # The shuffle files were lost with their executors: a fetch failure, and the stage ran again.
    assert found["counting"]["reran"]


def test_a_hanging_task_with_a_speculative_copy_counts_once(tmp_path: Path) -> None:
    found = run_script("cluster_speculation.py", str(tmp_path))
    (straight, is_again), (hanging, is_again_then) = found["straight"], found["hanging"]
    assert (is_again, is_again_then) == (False, True)
    assert straight["rows"] == [["2024-01-01 12:00:00", 6]]
    assert (straight["late"], straight["far_ahead"]) == ([0, 1], 1)
    assert hanging == straight
