"""Stateful Python functions: the watermark they read and their timers follow their own operator."""

# ruff: noqa: N802, N803 - Spark requires these names.
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from support.feeds import Feed, millis
from support.streams import Stepper

from common.settings import with_settings
from tidemark import late_rows, with_watermark

pytestmark = pytest.mark.more

SCHEMA = "id LONG, time TIMESTAMP"
TEN_MINUTES = 600_000
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

# Python workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

Feeds = Callable[..., Feed]
Run = Callable[..., Stepper]


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[None]:
    """The RocksDB state store, which `transformWithState` requires."""
    key = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(key)
    spark.conf.set(key, ROCKSDB)
    yield
    spark.conf.set(key, before)


def until_silent(
    key: tuple[int], pieces: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """Emits one row per call with input, and another row after ten minutes without input."""
    what, watermark = "row", state.getCurrentWatermarkMs()
    if state.hasTimedOut:
        what = "silent"
        state.remove()
    else:
        newest = max(piece["time"].max() for piece in pieces)
        state.update((1,))
        state.setTimeoutTimestamp(int(newest.timestamp() * 1000) + TEN_MINUTES)
    yield pd.DataFrame({"id": [key[0]], "what": [what], "watermark": [watermark]})


class UntilSilent(StatefulProcessor):
    """The same with a timer; for a key of the initial state the timer is set to its `since` time."""

    def __init__(self, time: str = "time") -> None:
        self._time = time

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        self._handle.registerTimer(int(initialState["since"].max().timestamp() * 1000))

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        newest = max(map(self._newest, rows))
        self._handle.registerTimer(int(newest.timestamp() * 1000) + TEN_MINUTES)
        yield self._row(key, "row", timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        yield self._row(key, "silent", timerValues)

    def close(self) -> None:
        pass

    def _newest(self, piece: Any) -> Any:
        return piece[self._time].max()

    @staticmethod
    def _row(key: Any, what: str, timers: Any) -> Any:
        watermark = timers.getCurrentWatermarkInMs()
        return pd.DataFrame({"id": [key[0]], "what": [what], "watermark": [watermark]})


class UntilSilentByRow(UntilSilent):
    """The same, with rows instead of pandas data frames."""

    def _newest(self, piece: Any) -> Any:
        return piece[self._time]

    @staticmethod
    def _row(key: Any, what: str, timers: Any) -> Any:
        return Row(id=key[0], what=what, watermark=timers.getCurrentWatermarkInMs())


OUT = "id LONG, what STRING, watermark LONG"


def by_groups(df: DataFrame) -> DataFrame:
    return df.groupBy("id").applyInPandasWithState(
        until_silent, OUT, "n LONG", "append", GroupStateTimeout.EventTimeTimeout
    )


def by_timers(df: DataFrame) -> DataFrame:
    return df.groupBy("id").transformWithStateInPandas(
        statefulProcessor=UntilSilent(),
        outputStructType=OUT,
        outputMode="Append",
        timeMode="EventTime",
    )


def by_timers_of_rows(df: DataFrame) -> DataFrame:
    grouped: Any = df.groupBy("id")
    if not hasattr(grouped, "transformWithState"):
        pytest.skip("this Spark has transformWithStateInPandas alone")
    return grouped.transformWithState(
        statefulProcessor=UntilSilentByRow(),
        outputStructType=OUT,
        outputMode="Append",
        timeMode="EventTime",
    )


@pytest.mark.parametrize("keeping", [by_groups, by_timers, by_timers_of_rows])
def test_a_stateful_python_function_reads_the_watermark_of_its_own_input(
    keeping: Callable[[DataFrame], DataFrame], feed: Feeds, run: Run, rocksdb: None
) -> None:
    fast, slow = feed("fast", SCHEMA), feed("slow", SCHEMA)
    kept = keeping(with_watermark(fast.stream(), "time", "0 seconds", key="fast"))
    # Spark allows only one of some of these operators in a query, so the second input has an aggregation. That input
    # is slow, and holds back only itself.
    behind = with_watermark(slow.stream(), "time", "0 seconds", key="slow")
    counts = behind.groupBy(F.window("time", "10 minutes")).count()
    stepper = run(kept.union(counts.select("count", F.lit("count"), F.lit(0))))
    slow.add({"id": 1, "time": "10:00"})
    fast.add({"id": 1, "time": "12:00"})
    assert [row[:2] for row in stepper.step()] == [(1, "row")]
    fast.add({"id": 2, "time": "12:30"})
    assert stepper.step() == [(1, "silent", millis("12:30")), (2, "row", millis("12:00"))]
    # The row at 12:20 is late, and the row at 12:31 is not.
    fast.add({"id": 3, "time": "12:20"}, {"id": 3, "time": "12:31"})
    slow.add({"id": 1, "time": "10:05"})
    assert stepper.step() == [(3, "row", millis("12:30"))]
    assert {late.key: late.rows for late in late_rows(stepper.query)} == {"fast": 1, "slow": 0}


class Latest(StatefulProcessor):
    """Emits the newest event time of a key in each batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        yield pd.DataFrame({"id": [key[0]], "at": [max(piece["time"].max() for piece in rows)]})

    def close(self) -> None:
        pass


def latest(marked: DataFrame) -> DataFrame:
    return marked.groupBy("id").transformWithStateInPandas(
        statefulProcessor=Latest(),
        outputStructType="id LONG, at TIMESTAMP",
        outputMode="Append",
        timeMode="EventTime",
        eventTimeColumnName="at",
    )


def test_event_times_emitted_by_a_python_function_close_windows(
    feed: Feeds, run: Run, rocksdb: None
) -> None:
    events = feed("events", SCHEMA)
    marked = with_watermark(events.stream(), "time", "0 seconds")
    counts = latest(marked).groupBy(F.window("at", "10 minutes").alias("w")).count()
    stepper = run(counts.select(F.date_format("w.start", "HH:mm"), "count"))
    events.add({"id": 1, "time": "10:00"}, {"id": 1, "time": "10:05"}, {"id": 2, "time": "10:01"})
    assert stepper.step() == []
    events.add({"id": 1, "time": "10:20"})
    assert stepper.step() == [("10:00", 2)]


def test_timers_of_a_second_python_function_follow_event_times_emitted_by_the_first(
    feed: Feeds, run: Run, rocksdb: None
) -> None:
    fast, slow = feed("fast", SCHEMA), feed("slow", SCHEMA)
    first = latest(with_watermark(fast.stream(), "time", "0 seconds", key="fast"))
    second = first.groupBy("id").transformWithStateInPandas(
        statefulProcessor=UntilSilent("at"),
        outputStructType=OUT,
        outputMode="Append",
        timeMode="EventTime",
    )
    behind = with_watermark(slow.stream(), "time", "0 seconds", key="slow")
    counts = behind.groupBy(F.window("time", "10 minutes")).count()
    stepper = run(second.union(counts.select("count", F.lit("count"), F.lit(0))))
    slow.add({"id": 1, "time": "10:00"})
    fast.add({"id": 1, "time": "12:00"}, {"id": 1, "time": "11:50"})
    assert [row[:2] for row in stepper.step()] == [(1, "row")]
    # The first function adds no delay: both functions have the same watermark.
    fast.add({"id": 2, "time": "12:30"})
    assert stepper.step() == [(1, "silent", millis("12:30")), (2, "row", millis("12:00"))]


def test_initial_state_can_register_timers(
    feed: Feeds, run: Run, spark: SparkSession, rocksdb: None
) -> None:
    events = feed("events", SCHEMA)
    before = spark.sql("SELECT 7L AS id, TIMESTAMP '2024-01-01 10:10:00' AS since").groupBy("id")
    marked = with_watermark(events.stream(), "time", "0 seconds")
    kept = marked.groupBy("id").transformWithStateInPandas(
        statefulProcessor=UntilSilent(),
        outputStructType=OUT,
        outputMode="Append",
        timeMode="EventTime",
        initialState=before,
    )
    stepper = run(kept)
    events.add({"id": 1, "time": "10:05"})
    assert [row[:2] for row in stepper.step()] == [(1, "row")]
    events.add({"id": 1, "time": "10:11"})
    assert stepper.step() == [(1, "row", millis("10:05")), (7, "silent", millis("10:11"))]


class Counting(StatefulProcessor):
    """Counts the rows of a key; its state expires after a day of processing time."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "n LONG", ttlDurationMs=86_400_000)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        before = self._count.get()[0] if self._count.exists() else 0
        now = before + sum(len(piece) for piece in rows)
        self._count.update((now,))
        yield pd.DataFrame({"id": [key[0]], "n": [now]})

    def close(self) -> None:
        pass


@pytest.fixture
def only_data(spark: SparkSession) -> Iterator[None]:
    """Turns off no-data batches: with processing-time state they would never end."""
    with with_settings(spark, {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}):
        yield


def test_state_with_a_processing_time_ttl_works_in_a_query_with_watermarks(
    feed: Feeds, run: Run, rocksdb: None, only_data: None
) -> None:
    fast, slow = feed("fast", SCHEMA), feed("slow", SCHEMA)
    counted = (
        with_watermark(fast.stream(), "time", "0 seconds", key="fast")
        .groupBy("id")
        .transformWithStateInPandas(
            statefulProcessor=Counting(),
            outputStructType="id LONG, n LONG",
            outputMode="Append",
            timeMode="ProcessingTime",
        )
    )
    behind = with_watermark(slow.stream(), "time", "0 seconds", key="slow")
    hours = behind.groupBy(F.window("time", "1 hour")).count()
    stepper = run(counted.union(hours.select(F.lit(0), "count")))
    fast.add({"id": 1, "time": "12:00"})
    slow.add({"id": 1, "time": "10:00"})
    assert stepper.step() == [(1, 1)]
    fast.add({"id": 1, "time": "12:10"}, {"id": 1, "time": "12:11"})
    slow.add({"id": 1, "time": "11:10"})
    assert stepper.step() == [(1, 3)]
    slow.add({"id": 1, "time": "11:20"})
    assert stepper.step() == [(0, 1)]
