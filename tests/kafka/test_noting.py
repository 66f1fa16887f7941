"""A query that notes its time beside the rows that it writes to Kafka, killed in between."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes import run_script

pytestmark = pytest.mark.kafka

MINUTE = 60_000


# Five lives of a query, each with a JVM of its own.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("marks", ["folder", "topic"])
def test_no_mark_is_ahead_of_the_rows_of_a_query_that_is_killed(tmp_path: Path, marks: str) -> None:
    found = run_script("noting_kafka.py", str(tmp_path), marks)
    # The last reading is at 5:59, and the delay is 10 minutes.
    assert found["noted"] == 349 * MINUTE
    assert found["distinct"] == 23
    assert found["broken"] == 0
    # Four were killed.
    assert found["lives"] == 5
    # Rows that were written again before their mark are not late.
    assert found["late"] == 0
    assert found["read"] == 23
