"""Spark's own `withWatermark` and the SQL WATERMARK clause use the column's name as their key."""

from __future__ import annotations

from collections.abc import Callable

import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed, clock, millis
from support.streams import Stepper

from common.settings import with_settings

SCHEMA = "id LONG, {column} TIMESTAMP"

needs_the_clause = pytest.mark.skipif(
    pyspark.__version__.startswith("4.0."), reason="Spark 4.0's SQL has no WATERMARK clause"
)


@needs_the_clause
def test_the_sql_watermark_clause_gives_each_input_its_own_watermark(
    spark: SparkSession, feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    fast, slow = (feed(name, SCHEMA.format(column=f"{name}_time")) for name in ("fast", "slow"))
    fast.stream().createOrReplaceTempView("fast_events")
    slow.stream().createOrReplaceTempView("slow_events")
    stepper = run(
        spark.sql("""
            SELECT 'fast' AS name, window.start, count(*)
            FROM STREAM fast_events WATERMARK fast_time DELAY OF INTERVAL 0 SECONDS
            GROUP BY window(fast_time, '10 minutes')
            UNION ALL
            SELECT 'slow' AS name, window.start, count(*)
            FROM STREAM slow_events WATERMARK slow_time DELAY OF INTERVAL 0 SECONDS
            GROUP BY window(slow_time, '10 minutes')
        """)
    )
    slow.add({"id": 0, "slow_time": "10:00"})
    fast.add({"id": 1, "fast_time": "10:01"}, {"id": 2, "fast_time": "10:10"})
    assert stepper.step() == [("fast", clock("10:00"), 1)]
    assert set(stepper.watermarks()) == {"fast_time", "slow_time"}


def test_sparks_own_with_watermark_uses_the_column_name_as_key(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    parts = []
    feeds = {name: feed(name, SCHEMA.format(column=f"{name}_time")) for name in ("fast", "slow")}
    for name, source in feeds.items():
        counted = (
            source.stream()
            .withWatermark(f"{name}_time", "0 seconds")
            .groupBy(F.window(f"{name}_time", "10 minutes"))
            .count()
            .select(F.lit(name), "window.start", "count")
        )
        parts.append(counted)
    stepper = run(parts[0].union(parts[1]))
    feeds["slow"].add({"id": 0, "slow_time": "10:00"})
    feeds["fast"].add({"id": 1, "fast_time": "10:01"}, {"id": 2, "fast_time": "10:10"})
    assert stepper.step() == [("fast", clock("10:00"), 1)]
    assert set(stepper.watermarks()) == {"fast_time", "slow_time"}


@needs_the_clause
def test_settings_apply_to_the_sql_watermark_clause(
    spark: SparkSession, feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    events = feed("events", "id LONG, time TIMESTAMP")
    events.stream().createOrReplaceTempView("ahead_events")
    with with_settings(spark, {"spark.tidemark.maxAhead": "1 day"}):
        stepper = run(
            spark.sql("""
                SELECT window.start, count(*)
                FROM STREAM ahead_events WATERMARK time DELAY OF INTERVAL 0 SECONDS
                GROUP BY window(time, '10 minutes')
            """)
        )
        events.add({"id": 0, "time": "10:00"}, {"id": 1, "time": "2100-01-01T00:00:00Z"})
        stepper.step()
    assert stepper.watermarks() == {"time": millis("10:00")}
    assert stepper.inputs()["time"]["far_ahead_rows"] == 1


def test_the_tidemark_event_time_sql_function_sets_splits(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    events = feed("events", "id LONG, time TIMESTAMP")
    options = '{"key": "readings", "expectedSplits": [["3"]]}'
    marked = (
        events.stream()
        .selectExpr(f"tidemark_event_time(time, '{options}', id) AS time", "id")
        .withWatermark("time", "1 minute")
    )
    stepper = run(marked.groupBy(F.window("time", "10 minutes")).count())
    events.add({"id": 1, "time": "10:00"}, {"id": 2, "time": "10:30"})
    stepper.step()
    assert stepper.watermarks() == {"readings": None}
    events.add({"id": 3, "time": "10:20"})
    stepper.step()
    assert stepper.watermarks() == {"readings": millis("09:59")}
