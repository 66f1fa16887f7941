"""`kill -9` of an executor in the middle of a query with joins."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes import run_script


@pytest.mark.slow
def test_rows_and_late_rows_are_those_of_a_run_in_which_nobody_dies(tmp_path: Path) -> None:
    found = run_script("cluster_kill.py", str(tmp_path), TZ="UTC")
    (straight, late, died), (rows, late_then, died_then) = found["straight"], found["killed"]
    assert (died, died_then) == (False, True)
    assert len(straight) > 2
    assert rows == straight
    assert late_then == late
    assert sum(rows for _, rows in late) > 0
