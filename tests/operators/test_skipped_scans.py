"""Scans of state that a batch leaves out, as Spark's progress shows them on every version of Spark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import Stepper

import tidemark

pytestmark = pytest.mark.usefixtures("generated_code")


@pytest.mark.classic
def test_a_batch_in_which_no_window_is_due_skips_the_scan_of_its_state(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    events = feed("events", "id LONG, time TIMESTAMP")
    marked = tidemark.with_watermark(events.stream(), "time", "0 seconds")
    stepper = run(marked.groupBy(F.window("time", "1 hour")).count())
    counts = []
    for time in ("10:00", "10:30", "10:59", "11:00"):
        events.add({"id": 1, "time": time})
        counts += [row[1] for row in stepper.step()]
    assert counts == [3]
    skipped = {
        progress.batchId: operator.customMetrics.get("skippedStateScans")
        for progress in stepper.query.recentProgress
        for operator in progress.stateOperators
    }
    # The first batch of a run scans the state, the next one has the first watermark, and the last one emits the window.
    assert skipped == {0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 0}
    (operator,) = nodes(tidemark.report(stepper.query).to_dict()["plan"])
    assert operator["skipped_scans"] == 3


def nodes(plan: dict[str, object]) -> list[dict[str, object]]:
    """The operators of a report that have skipped scans."""
    own = [plan] if "skipped_scans" in plan else []
    return own + [node for child in plan.get("children") or [] for node in nodes(child)]
