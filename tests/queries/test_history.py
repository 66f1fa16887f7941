"""What a report says of its run: the watermarks after each batch."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession
from support.feeds import Feed, millis
from support.stalled import stalled as stalled
from support.streams import Stepper

import tidemark
from common.settings import with_settings
from tidemark import with_watermark


def test_the_history_of_a_report_has_the_watermarks_after_each_batch(stalled: Stepper) -> None:
    history = tidemark.report(stalled.query).to_dict()["history"]
    orders, payments = history["inputs"]
    assert (orders["key"], payments["key"]) == ("orders", "payments")
    assert orders["watermark_ms"][-1] == millis("10:20")
    assert orders["max_event_time_ms"][-1] == millis("10:30")
    assert set(payments["watermark_ms"]) == {millis("09:50")}
    assert history["batches"] == len(history["batch"]) == len(orders["watermark_ms"])
    assert history["batch"] == sorted(history["batch"])
    assert history["state_rows"][-1] > 0
    assert sum(history["late_rows"]) == 0


def test_no_history_is_kept_if_the_setting_is_off(
    spark: SparkSession, feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    with with_settings(spark, {"spark.tidemark.history": "off"}):
        events = feed("events", "id LONG, time TIMESTAMP")
        stepper = run(with_watermark(events.stream(), "time", "0 seconds"))
        events.add({"id": 1, "time": "10:00"})
        stepper.step()
    assert "history" not in tidemark.report(stepper.query).to_dict()
