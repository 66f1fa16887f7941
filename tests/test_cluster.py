"""A real multi-process cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes import run_script


@pytest.mark.slow
def test_executors_of_their_own_get_the_jar_through_spark_jars_alone(tmp_path: Path) -> None:
    found = run_script("cluster.py", str(tmp_path), TZ="UTC")
    assert found["problems"] == ""
    assert found["executors"] == 2
    assert found["out"] == [
        [],
        [["fast", "2024-01-01 06:00:00", 1], ["slow", "2024-01-01 00:00:00", 1]],
        [["fast", "2024-01-01 07:00:00", 1], ["slow", "2024-01-01 01:00:00", 1]],
    ]
