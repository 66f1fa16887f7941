"""Watermarks by the marks of writers of Kafka rows, against a real broker, over restarts."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes import run_script

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("marks", ["folder", "topic"])
def test_a_query_by_marks_loses_no_row_of_a_writer_that_is_two_hours_behind(
    tmp_path: Path, marks: str
) -> None:
    given = [str(tmp_path), *(["topic"] if marks == "topic" else [])]
    found = run_script("noted_kafka.py", *given)
    assert found["sent"] == 480
    # Only the query that uses the times of the rows has one clock for all partitions.
    assert found["one_clock"] == [False]
    # The writers have ended, so everything is complete.
    assert found["noted"] == 480
    assert found["hours"] == list(range(8))
    if marks == "folder":
        # The same rows with a guessed watermark and no delay.
        assert found["guessed"] < 300
