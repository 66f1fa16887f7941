"""`make sequences`: each departure with the next one, as rows come and in order."""

from __future__ import annotations

import pytest
from support.processes import run_example


@pytest.mark.example
@pytest.mark.timeout(900)
def test_in_order_no_transition_is_wrong_and_on_stock_spark_most_are() -> None:
    done = run_example("sequences")
    # The example itself compares every transition with the truth.
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    figures = {
        line[0]: [int(cell.replace(",", "")) for cell in line[1:]]
        for line in lines
        if line and line[0] in ("stock", "Tidemark")
    }
    total, wrong, missing = figures["stock"]
    assert wrong == missing > total // 2
    assert figures["Tidemark"] == [total, 0, 0]
