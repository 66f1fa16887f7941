"""A query that waits for one of its inputs, as a fixture."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import functions as F

from tidemark import with_watermark

from .feeds import Feed
from .streams import Stepper


@pytest.fixture
def stalled(one_partition: None, feed: Callable[..., Feed], run: Callable[..., Stepper]) -> Stepper:
    """A query of two inputs, the second of which has stood still since its first row."""
    orders, payments = (feed(name, "id LONG, time TIMESTAMP") for name in ("orders", "payments"))
    both = with_watermark(orders.stream(), "time", "10 minutes", key="orders").union(
        with_watermark(payments.stream(), "time", "10 minutes", key="payments")
    )
    stepper = run(both.groupBy(F.window("time", "10 minutes")).count())
    payments.add({"id": 1, "time": "10:00"})
    for minute in (10, 20, 30):
        orders.add({"id": minute, "time": f"10:{minute}"})
        stepper.step()
    return stepper
