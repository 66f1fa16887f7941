"""`make backfill`: a batch query that begins where a streaming query's log says, with a real Kafka broker."""

from __future__ import annotations

import pytest
from support.processes import run_example


@pytest.mark.example
def test_a_backfill_from_kafka_counts_every_row_of_the_hours_that_lost_some() -> None:
    done = run_example("backfill")
    assert done.returncode == 0, done.stderr[-6000:]
    lines = done.stdout.splitlines()
    hours = [line.split() for line in lines if line[:2].isdigit()]
    assert [hour[0] for hour in hours] == ["10:00", "11:00", "12:00", "13:00"]
    # The stream has lost rows of the second hour, and the backfill has all rows from there on.
    assert int(hours[1][2]) < int(hours[1][1])
    assert [hour[3] for hour in hours[1:]] == [hour[1] for hour in hours[1:]]
    read, total = (int(word) for word in lines[-1].split() if word.isdigit())
    assert read < total
