"""Queries whose marks are in a topic, while its broker is down and after it is back."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes import run_script

pytestmark = pytest.mark.kafka


def test_queries_outlast_a_broker_that_is_down_and_lose_no_row(tmp_path: Path) -> None:
    found = run_script("broker_away.py", str(tmp_path))
    # Rows were read, but without news of the writer no hour was complete.
    assert found["down"] == [0]
    assert found["hours"] == {"0": 60, "1": 60, "2": 60}
    assert found["late"] == 0
    assert found["active"] == [True, True]
