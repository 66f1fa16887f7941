"""State that functions keep themselves."""

# ruff: noqa: N802, N803 - Spark requires these names.
from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from corpus.cases import case
from corpus.inputs import CALLS, LINES, READINGS, VISITS

# Python workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
MINUTE = 60_000


def millis(time: Any) -> int:
    return int(time.timestamp() * 1000)


def count_sessions(
    key: tuple[str], pieces: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """Nothing while a session goes on; its count, start and end when its time is over."""
    if state.hasTimedOut:
        count, start, end = state.get
        state.remove()
        yield pd.DataFrame({"id": [key[0]], "count": [count], "start": [start], "end": [end]})
        return
    count, start, end = state.get if state.exists else (0, sys.maxsize, 0)
    for piece in pieces:
        count += len(piece)
        start = min(start, millis(piece["timestamp"].min()))
        end = max(end, millis(piece["timestamp"].max()))
    state.update((count, start, end))
    # A timeout must be after the watermark: a session that has ended times out when the watermark advances.
    state.setTimeoutTimestamp(max(end + 5 * MINUTE, state.getCurrentWatermarkMs() + 1))


def count_so_far(
    key: tuple[str], pieces: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    count = state.get[0] if state.exists else 0
    count += sum(len(piece) for piece in pieces)
    state.update((count,))
    yield pd.DataFrame({"id": [key[0]], "count": [count]})


def first_and_last(
    key: tuple[int], pieces: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """The span of a visit whenever it grows, and once more when it has timed out."""
    final = state.hasTimedOut
    if final:
        start, end = state.get
        state.remove()
    else:
        times = [millis(time) for piece in pieces for time in piece["event_time"]]
        known = state.get if state.exists else ()
        start, end = min([*times, *known]), max([*times, *known])
        state.update((start, end))
        base = state.getCurrentWatermarkMs() or max(times)
        state.setTimeoutTimestamp(base + 16 * MINUTE)
    yield pd.DataFrame({"id": [key[0]], "span": [end - start], "final": [final]})


@case("examples", CALLS, quick=True)
def sessions_by_a_function(calls: DataFrame) -> DataFrame:
    """Sessions by `applyInPandasWithState` with a timeout in event time, append mode."""
    return (
        calls.withWatermark("timestamp", "10 minutes")
        .groupBy("userId")
        .applyInPandasWithState(
            count_sessions,
            "id STRING, count LONG, start LONG, end LONG",
            "count LONG, start LONG, end LONG",
            "append",
            GroupStateTimeout.EventTimeTimeout,
        )
    )


@case("internals", READINGS, mode="update")
def counts_by_a_function(readings: DataFrame) -> DataFrame:
    """Counts of each device by `applyInPandasWithState`, without a timeout."""
    return readings.groupBy("device").applyInPandasWithState(
        count_so_far, "id STRING, count LONG", "count LONG", "update", GroupStateTimeout.NoTimeout
    )


@case("variant", CALLS, mode="update")
def counts_behind_a_watermark(calls: DataFrame) -> DataFrame:
    """Counts of each user by a function without a timeout, behind a watermark."""
    kept = calls.withWatermark("timestamp", "5 minutes")
    return kept.groupBy("userId").applyInPandasWithState(
        count_so_far, "id STRING, count LONG", "count LONG", "update", GroupStateTimeout.NoTimeout
    )


@case("playground", VISITS, mode="update")
def visits_that_time_out(visits: DataFrame) -> DataFrame:
    """Spans of visits by a function that reads the watermark, update mode."""
    kept = visits.withWatermark("event_time", "10 minutes")
    return kept.groupBy("visit_id").applyInPandasWithState(
        first_and_last,
        "id LONG, span LONG, final BOOLEAN",
        "start LONG, end LONG",
        "update",
        GroupStateTimeout.EventTimeTimeout,
    )


class Downtime(StatefulProcessor):
    """The last time of each key; a timer tells when five minutes have gone by without another."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.last = handle.getValueState("last", "millis LONG")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        newest = max(millis(piece["timestamp"].max()) for piece in rows)
        if not self.last.exists() or self.last.get()[0] < newest:
            for timer in list(self.handle.listTimers()):
                self.handle.deleteTimer(timer)
            self.last.update((newest,))
            self.handle.registerTimer(newest + 5 * MINUTE)
        yield pd.DataFrame({"id": [key[0]], "what": ["seen"], "at": [newest]})

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        gone = timerValues.getCurrentWatermarkInMs() - self.last.get()[0]
        yield pd.DataFrame({"id": [key[0]], "what": ["gone"], "at": [gone]})

    def close(self) -> None:
        pass


class Running(StatefulProcessor):
    """How many rows of each key, all words that it has had, and how often each."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.all = handle.getListState("all", "name STRING")
        self.each = handle.getMapState("each", "name STRING", "n LONG")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        for piece in rows:
            for name in piece["device"]:
                known = self.each.getValue((name,))
                self.each.updateValue((name,), ((known[0] if known else 0) + 1,))
                self.all.appendValue((name,))
        counts = sorted((name, n) for (name,), (n,) in self.each.iterator())
        text = ",".join(f"{name}={n}" for name, n in counts)
        count = sum(1 for _ in self.all.get())
        yield pd.DataFrame({"id": [key[0]], "count": [count], "each": [text]})

    def close(self) -> None:
        pass


class RunningByRow(StatefulProcessor):
    """A count, of rows and not of data frames of them."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "n LONG")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        known = self.count.get()[0] if self.count.exists() else 0
        count = known + sum(1 for _ in rows)
        self.count.update((count,))
        yield Row(id=key[0], count=count)

    def close(self) -> None:
        pass


def detected(calls: DataFrame, mode: str) -> DataFrame:
    kept = calls.withWatermark("timestamp", "10 minutes")
    return kept.groupBy("userId").transformWithStateInPandas(
        statefulProcessor=Downtime(),
        outputStructType="id STRING, what STRING, at LONG",
        outputMode=mode,
        timeMode="EventTime",
    )


@case("guide", CALLS, conf=ROCKSDB)
def downtime_appended(calls: DataFrame) -> DataFrame:
    """Downtime of users by `transformWithStateInPandas` and timers in event time, append mode."""
    return detected(calls, "Append")


@case("guide", CALLS, mode="update", conf=ROCKSDB)
def downtime_updated(calls: DataFrame) -> DataFrame:
    """The same in update mode."""
    return detected(calls, "Update")


@case("api", READINGS, mode="update", conf=ROCKSDB)
def lists_and_maps(readings: DataFrame) -> DataFrame:
    """Devices of each type in a list state and a map state, without time."""
    return (
        readings.where("type IS NOT NULL")
        .groupBy("type")
        .transformWithStateInPandas(
            statefulProcessor=Running(),
            outputStructType="id STRING, count LONG, each STRING",
            outputMode="Update",
            timeMode="None",
        )
    )


@case("variant", LINES, mode="update", conf=ROCKSDB, since="4.1")
def counts_by_rows(lines: DataFrame) -> DataFrame:
    """Words counted by `transformWithState` of rows, behind a watermark."""
    words = lines.withWatermark("timestamp", "10 seconds").select(
        F.explode(F.split("value", " ")).alias("word"), "timestamp"
    )
    return words.groupBy("word").transformWithState(
        statefulProcessor=RunningByRow(),
        outputStructType="id STRING, count LONG",
        outputMode="Update",
        timeMode="EventTime",
    )
