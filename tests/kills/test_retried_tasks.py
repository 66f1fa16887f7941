"""Tasks and stages that run twice change no row, no watermark, no count of late rows and no reported call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.processes import run_script

pytestmark = [pytest.mark.kill, pytest.mark.timeout(900)]


def assert_as_one_run(found: dict[str, Any], troubles: list[str]) -> None:
    """The query has done what it does undisturbed, and calls were repeated with the ids that they had."""
    for name, runs in found.items():
        straight = runs["straight"]
        assert not straight["did"]
        assert len(straight["found"]["rows"]) > 20, name
        assert sum(late[2] for late in straight["found"]["late"]) >= 8, name
        for trouble in troubles:
            run = runs[trouble]
            assert run["did"], f"{name}: {trouble}"
            for what, expected in straight["found"].items():
                assert run["found"][what] == expected, f"{name}: {trouble}: {what}"
            assert run["called"].keys() == straight["called"].keys(), f"{name}: {trouble}"
            assert run["ids"] == straight["ids"] == len(straight["called"]), f"{name}: {trouble}"
            assert set(run["called"].values()) <= {1, 2}, f"{name}: {trouble}"


def test_tasks_that_fail_and_stages_whose_shuffle_files_are_gone_count_once(
    tmp_path: Path,
) -> None:
    troubles = ["fails@read", "fails@shuffled", "files are gone@shuffled"]
    found = run_script("retried_tasks.py", str(tmp_path), "local[2,4]", *troubles)
    assert all(runs["files are gone@shuffled"]["reran"] > 0 for runs in found.values())
    assert_as_one_run(found, troubles)


def test_tasks_of_lost_executors_count_once(tmp_path: Path) -> None:
    troubles = ["dies@read", "dies@shuffled", "all die@shuffled"]
    found = run_script("retried_tasks.py", str(tmp_path), "local-cluster[2,1,1024]", *troubles)
    assert all(runs["all die@shuffled"]["reran"] > 0 for runs in found.values())
    assert_as_one_run(found, troubles)


def test_hanging_tasks_and_their_speculative_copies_count_once(tmp_path: Path) -> None:
    troubles = ["hangs@read", "hangs@shuffled"]
    found = run_script("retried_tasks.py", str(tmp_path), "two machines", *troubles)
    assert_as_one_run(found, troubles)
