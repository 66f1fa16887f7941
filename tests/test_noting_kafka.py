"""A query that notes its time beside the rows that it writes to Kafka, killed in between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.processes import clean_environment, run_script

pytestmark = pytest.mark.more

MINUTE = 60_000


def test_no_mark_is_ahead_of_the_rows_of_a_query_that_is_killed(tmp_path: Path) -> None:
    examples = str(Path(__file__).parent.parent / "examples")
    path = os.pathsep.join([clean_environment()["PYTHONPATH"], examples])
    found = run_script("noting_kafka.py", str(tmp_path), TZ="UTC", PYTHONPATH=path)
    # The last reading is at 5:59, and the delay is 10 minutes.
    assert found["noted"] == 349 * MINUTE
    assert found["distinct"] == 23
    assert found["broken"] == 0
    # Rows that were written again before their mark are not late.
    assert found["late"] == 0
    assert found["read"] == 23
