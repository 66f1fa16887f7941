"""Reports about functions with state, written in Python."""

# ruff: noqa: N802, N803 - Spark requires these names.
from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from corpus.cases import case
from corpus.inputs import inputs
from corpus.reports.common import AT, DOORS, SPARK
from corpus.state import MINUTE, ROCKSDB, count_sessions

# Python workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@case(
    "report",
    inputs(
        {"calls": "userId STRING, timestamp TIMESTAMP"},
        [[("u1", "10:00"), ("u2", "10:00")]],
        [[("u3", "10:12")]],
        [[("u1", "10:04"), ("u3", "10:15")]],
        [[("u2", "10:08"), ("u3", "10:40")]],
        [[("u1", "10:31"), ("u3", "10:45")]],
        [[("u3", "15:00")]],
    ),
    report=f"{SPARK}35810",
    stock="no timeout in the batch that has rows of the key",
)
def rows_when_a_timeout_is_due(calls: DataFrame) -> DataFrame:
    """A function with a timeout, and rows of a key in the very batch in which its time is over."""
    kept = calls.withWatermark("timestamp", "10 minutes")
    return kept.groupBy("userId").applyInPandasWithState(
        count_sessions,
        "id STRING, count LONG, start LONG, end LONG",
        "count LONG, start LONG, end LONG",
        "append",
        GroupStateTimeout.EventTimeTimeout,
    )


class Passed(StatefulProcessor):
    """Each batch's rows of a key as one, with their newest time."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "n LONG")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        pieces = list(rows)
        known = self.count.get()
        count = (known[0] if known else 0) + sum(map(len, pieces))
        self.count.update((count,))
        newest = max(piece["at"].max() for piece in pieces)
        yield pd.DataFrame({"id": [key[0]], "n": [count], "seen": [newest]})

    def close(self) -> None:
        pass


@case("report", DOORS, report=f"{SPARK}45376", stock="counts them in windows", conf=ROCKSDB)
def windows_of_a_processor(doors: DataFrame) -> DataFrame:
    """Counts in windows of what a stateful processor emits, by a time that it sets."""
    kept = doors.withWatermark("at", "10 minutes")
    emitted = kept.groupBy("id").transformWithStateInPandas(
        statefulProcessor=Passed(),
        outputStructType="id STRING, n LONG, seen TIMESTAMP",
        outputMode="Append",
        timeMode="EventTime",
        eventTimeColumnName="seen",
    )
    return emitted.groupBy(F.window("seen", "30 minutes")).agg(F.count("*"), F.max("n"))


@case(
    "report",
    DOORS,
    mode="update",
    report=f"{SPARK}50550",
    stock="hands them to the processor, since Spark 4.0",
    conf=ROCKSDB,
)
def processor_without_a_time(doors: DataFrame) -> DataFrame:
    """Late rows of a stateful processor that uses no time, behind a watermark."""
    kept = doors.withWatermark("at", "10 minutes")
    return kept.groupBy("id").transformWithStateInPandas(
        statefulProcessor=Passed(),
        outputStructType="id STRING, n LONG, seen TIMESTAMP",
        outputMode="Update",
        timeMode="None",
    )


def watermarks(
    key: tuple[str], pieces: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """The watermark of each batch with rows of the key, or in which its time is over."""
    what = "over" if state.hasTimedOut else "rows"
    seen = state.getCurrentWatermarkMs()
    if state.hasTimedOut:
        state.remove()
    else:
        rows = sum(map(len, pieces))
        state.update((rows,))
        state.setTimeoutTimestamp(seen + 30 * MINUTE)
    yield pd.DataFrame({"id": [key[0]], "what": [what], "seen": [seen]})


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "10:05")]],
        [[("a", "10:20")]],
        [[("c", "11:00")]],
        [[("c", "13:00")]],
    ),
    mode="update",
    report=f"{SPARK}21345",
    stock="once the watermark has passed it, in a batch without rows",
)
def times_out_without_rows(doors: DataFrame) -> DataFrame:
    """When a function's timeout comes, and which watermark the function is told."""
    kept = doors.withWatermark("at", "10 minutes")
    return kept.groupBy("id").applyInPandasWithState(
        watermarks,
        "id STRING, what STRING, seen LONG",
        "n LONG",
        "update",
        GroupStateTimeout.EventTimeTimeout,
    )
