"""Marks in a topic from SQL, Scala and Spark Connect: one query notes its time, and another one uses it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes import run_script

pytestmark = pytest.mark.kafka

MINUTE = 60_000


@pytest.mark.parametrize("way", ["sql", "scala", "connect"])
def test_a_query_uses_the_time_that_another_one_has_noted_in_a_topic(
    tmp_path: Path, way: str
) -> None:
    more = {"SPARK_TESTING": "1"} if way == "connect" else {}
    found = run_script("topic_ways.py", str(tmp_path), way, **more)
    assert ("connect" in found["session"]) == (way == "connect")
    # The last reading is at 3:59.
    assert found["noted"] == found["largest"] == 239 * MINUTE
    assert found["hours"] == [[0, 60], [1, 60], [2, 60]]
    assert found["writers"] == [way]
    assert found["kinds"] == ["alive", "note"]
    assert found["positions"] == ["sink"]
