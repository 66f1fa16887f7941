"""Watermarks by the marks of writers of Kafka rows, against a real broker, over restarts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.processes import clean_environment, run_script

pytestmark = pytest.mark.more


def test_a_query_by_marks_loses_no_row_of_a_writer_that_is_two_hours_behind(tmp_path: Path) -> None:
    examples = str(Path(__file__).parent.parent / "examples")
    path = os.pathsep.join([clean_environment()["PYTHONPATH"], examples])
    found = run_script("noted_kafka.py", str(tmp_path), TZ="UTC", PYTHONPATH=path)
    assert found["sent"] == 480
    # The writers have ended, so everything is complete.
    assert found["noted"] == 480
    assert found["hours"] == list(range(8))
    # The same rows with a guessed watermark and no delay.
    assert found["guessed"] < 300
