"""A real multi-process cluster."""

from __future__ import annotations

from typing import Any

import pytest
from support.feeds import millis
from support.processes import run_script

pytestmark = pytest.mark.more


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_script("cluster.py", str(tmp_path_factory.mktemp("cluster")))


def test_cluster_executors_get_the_jar_from_spark_jars_alone(found: dict[str, Any]) -> None:
    assert found["problems"] == ""
    assert found["executors"] == 2
    assert found["out"] == [
        [],
        [["fast", "2024-01-01 06:00:00", 1], ["slow", "2024-01-01 00:00:00", 1]],
        [["fast", "2024-01-01 07:00:00", 1], ["slow", "2024-01-01 01:00:00", 1]],
    ]


def test_rows_seen_by_a_failed_and_retried_task_count_once(
    found: dict[str, Any],
) -> None:
    assert found["failed"]
    assert found["sums"] == [["a", 5], ["b", 1]]
    assert found["clocks"] == {"a": millis("10:01"), "b": millis("10:05")}
    assert found["far_ahead"] == 1
