"""`make pipeline`: a query that reads the output of another one, with a delay and with noted time."""

from __future__ import annotations

import pytest
from support.processes import run_example


@pytest.mark.example
@pytest.mark.timeout(900)
def test_by_noted_time_a_second_query_loses_no_flight_and_its_hours_wait_less_than_with_a_delay() -> (
    None
):
    # With Kafka in between it takes minutes more, and `make pipeline` has that too.
    done = run_example("pipeline", "--between", "files")
    # The example itself compares every row and every wait with the rules in plain Python.
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    lines = [line.split("  ") for line in done.stdout.splitlines()]
    cells = [[cell.split()[0] for cell in line[1:] if cell] for line in lines]
    figures = {line[0]: row for line, row in zip(lines, cells, strict=True) if len(row) == 4}
    lost = {name: int(row[0]) for name, row in figures.items() if row[0].isdigit()}
    waits = {name: float(figures[name][2]) for name in lost}
    assert [*lost] == [
        "stock, delay 0 min",
        "stock, delay 10 min",
        "stock, delay 60 min",
        "noted time",
    ]
    assert lost.pop("noted time") == 0
    assert all(lost.values())
    assert waits.pop("noted time") < min(waits.values())
