"""Rows that must come in the order of their times: stock Spark without `in_order`, Tidemark with it."""

# ruff: noqa: N802, N803 - Spark requires these names.
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial, update_wrapper
from typing import Any

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

import tidemark
from corpus.cases import case
from corpus.inputs import CALLS, READINGS, Inputs, inputs
from corpus.reports.common import EACH, joined
from corpus.reports.several import PAYMENTS, balances
from corpus.sql import ask
from corpus.state import MINUTE, ROCKSDB, millis

# Python workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

Order = Callable[..., DataFrame]


def as_they_come(rows: DataFrame, *_: object, **__: object) -> DataFrame:
    """In place of `in_order`, on stock Spark."""
    return rows


def ordered_case(given: Inputs, differs: str, **options: Any) -> Callable[[Order], Order]:
    """A case whose function takes `in_order`, or what stands in its place, and then its inputs."""

    def add(build: Order) -> Order:
        stock = update_wrapper(partial(build, as_they_come), build)
        here = partial(build, tidemark.in_order)
        case("variant", given, differs=differs, with_option=here, **options)(stock)
        return build

    return add


def clock(time: str | Column) -> Column:
    return F.date_format(time, "HH:mm")


def balances_at(payments: DataFrame) -> DataFrame:
    return balances(payments).select("id", clock(F.timestamp_millis("millis")), "balance")


# What has been written at one time has a number in addition. The deletion of 2 arrives before a change that it follows.
CHANGES = inputs(
    {"changes": "id LONG, at TIMESTAMP, number LONG, what STRING, name STRING"},
    [[(1, "10:00", 1, "insert", "ann"), (2, "10:01", 2, "insert", "bob")]],
    [[(1, "10:05", 5, "update", "anna"), (1, "10:05", 4, "update", "anne")]],
    [[(2, "10:12", 7, "delete", None)]],
    [[(2, "10:10", 6, "update", "rob"), (3, "10:11", 8, "insert", "cy")]],
    [[(1, "11:00", 9, "update", "hanna")]],
    [[(4, "15:00", 10, "insert", "dee")]],
)


def last_of_each(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    rows = list(pieces)
    if rows:
        yield pd.concat(rows).drop_duplicates("id", keep="last")


def last_changes(batch: DataFrame) -> DataFrame:
    """What a `MERGE` would be given."""
    return batch.mapInPandas(last_of_each, batch.schema).select("id", "what", "name")


@ordered_case(
    CHANGES,
    "with `in_order`, a change that arrives late does not bring a deleted row back",
    in_batch=last_changes,
    emits=[
        (1, "insert", "ann"),
        (2, "insert", "bob"),
        (1, "update", "anna"),
        (2, "delete", None),
        (3, "insert", "cy"),
        (1, "update", "hanna"),
    ],
)
def changes_applied(in_order: Order, changes: DataFrame) -> DataFrame:
    """Change data: the last change of each row is applied in `foreachBatch`, by time and number."""
    return in_order(changes.withWatermark("at", "10 minutes"), "at", by="id", then="number")


@ordered_case(
    PAYMENTS,
    "with `in_order`, the first one by time is kept",
    quick=True,
    emits=[("a", "10:00"), ("b", "10:05")],
)
def first_payments(in_order: Order, payments: DataFrame) -> DataFrame:
    """The first payment of each account by `dropDuplicates`."""
    marked = payments.withWatermark("at", "30 minutes")
    return in_order(marked, "at", by="id").dropDuplicates(["id"]).select("id", clock("at"))


@ordered_case(
    PAYMENTS,
    "with `in_order`, the first one by time is kept",
    emits=[("a", "10:00"), ("b", "10:05"), ("a", "12:00")],
)
def first_payments_within_the_watermark(in_order: Order, payments: DataFrame) -> DataFrame:
    """The same by `dropDuplicatesWithinWatermark`."""
    kept = in_order(payments.withWatermark("at", "30 minutes"), "at", by="id")
    return kept.dropDuplicatesWithinWatermark(["id"]).select("id", clock("at"))


@ordered_case(
    READINGS,
    "with `in_order`, the first one by time is kept",
    emits=[
        ("d1", "10:01"),
        ("d2", "10:03"),
        ("d3", "10:02"),
        ("d1", "10:11"),
        ("d2", "10:12"),
        ("d2", "10:47"),
        ("d3", "11:30"),
    ],
)
def first_readings_in_windows(in_order: Order, readings: DataFrame) -> DataFrame:
    """The first reading of each device in each window, ordered by the window and the device."""
    rows = readings.withWatermark("time", "10 minutes")
    rows = rows.withColumn("window", F.window("time", "10 minutes"))
    kept = in_order(rows, "time", by=["device", "window"])
    # Stock Spark refuses a time beside its window.
    in_words = kept.select("device", "window", clock("time").alias("at"))
    return in_words.dropDuplicates(["device", "window"]).select("device", "at")


def by_gaps(
    key: tuple[str], pieces: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """A session goes on until five minutes pass without a call. Calls must come by time."""
    session = state.get if state.exists else None
    ended = [session] if state.hasTimedOut else []
    if state.hasTimedOut:
        state.remove()
    else:
        for time in (millis(time) for piece in pieces for time in piece["timestamp"]):
            if session and time > session[1] + 5 * MINUTE:
                ended.append(session)
                session = None
            start, _, count = session or (time, time, 0)
            session = (start, time, count + 1)
        state.update(session)
        # A timeout cannot be before the watermark.
        over = session[1] + 5 * MINUTE
        state.setTimeoutTimestamp(max(over, state.getCurrentWatermarkMs()))
    rows = [(key[0], *ended_session) for ended_session in ended]
    yield pd.DataFrame(rows, columns=["id", "start", "end", "count"])


@ordered_case(
    Inputs(CALLS.schemas, [*CALLS.steps, *inputs(CALLS.schemas, [[("user9", "16:00")]]).steps]),
    "with `in_order`, a session is not cut at a call that arrives later",
    emits=[
        ("user1", "10:00", "10:08", 4),
        ("user2", "10:00", "10:00", 2),
        ("user3", "10:01", "10:01", 1),
        ("user2", "10:22", "10:22", 1),
        ("user3", "10:26", "10:30", 2),
        ("user2", "10:50", "10:50", 1),
    ],
)
def sessions_by_gaps(in_order: Order, calls: DataFrame) -> DataFrame:
    """Sessions by `applyInPandasWithState`, each until a gap of five minutes."""
    found = (
        in_order(calls.withWatermark("timestamp", "10 minutes"), "timestamp", by="userId")
        .groupBy("userId")
        .applyInPandasWithState(
            by_gaps,
            "id STRING, start LONG, end LONG, count LONG",
            "start LONG, end LONG, count LONG",
            "append",
            GroupStateTimeout.EventTimeTimeout,
        )
    )
    ends = (clock(F.timestamp_millis(end)) for end in ("start", "end"))
    return found.select("id", *ends, "count")


class SinceTheLast(StatefulProcessor):
    """How many minutes each reading comes after the one before."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.last = handle.getValueState("last", "millis LONG")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        for time in (millis(time) for piece in rows for time in piece["time"]):
            if self.last.exists():
                since = (time - self.last.get()[0]) // MINUTE
                yield pd.DataFrame({"device": [key[0]], "minutes": [since]})
            self.last.update((time,))

    def close(self) -> None:
        pass


@ordered_case(
    READINGS,
    "with `in_order`, no reading is before the last one",
    conf=ROCKSDB,
    emits=[("d1", 10), ("d1", 2), ("d2", 9), ("d3", 7), ("d2", 35), ("d3", 81)],
)
def minutes_between_readings(in_order: Order, readings: DataFrame) -> DataFrame:
    """Minutes between the readings of a device by `transformWithStateInPandas`."""
    kept = in_order(readings.withWatermark("time", "10 minutes"), "time", by="device")
    return kept.groupBy("device").transformWithStateInPandas(
        statefulProcessor=SinceTheLast(),
        outputStructType="device STRING, minutes LONG",
        outputMode="Append",
        timeMode="None",
    )


@ordered_case(
    PAYMENTS,
    "with `in_order`, an account's payments come by time, and the last one waits",
    ordered=True,
    emits=[
        ("a", "10:00", 100),
        ("a", "10:10", 50),
        ("b", "10:05", 20),
        ("a", "10:20", -70),
        ("a", "10:30", 40),
        ("a", "10:40", -60),
        ("b", "10:15", 10),
        ("a", "12:00", 5),
    ],
)
def payments_written_in_order(in_order: Order, payments: DataFrame) -> DataFrame:
    """Payments that `foreachBatch` writes as they come."""
    kept = in_order(payments.withWatermark("at", "30 minutes"), "at", by="id")
    return kept.select("id", clock("at"), "amount")


def in_cents(amount: int) -> int:
    return 100 * amount


@ordered_case(
    PAYMENTS,
    "with `in_order`, payments come in the order of their times",
    emits=[
        ("a", "10:00", 10000),
        ("a", "10:10", 15000),
        ("b", "10:05", 2000),
        ("a", "10:20", 8000),
        ("a", "10:30", 12000),
        ("a", "10:40", 6000),
        ("b", "10:15", 3000),
        ("a", "12:00", 6500),
    ],
)
def balances_in_cents(in_order: Order, payments: DataFrame) -> DataFrame:
    """Running balances, behind a Python function and a common table expression."""
    kept = in_order(payments.withWatermark("at", "30 minutes"), "at", by="id")
    in_sql = ask(
        "WITH paid AS (SELECT id, at, amount FROM corpus_cents WHERE amount <> 0) SELECT * FROM paid",
        corpus_cents=kept.withColumn("amount", F.udf(in_cents, "LONG")("amount")),
    )
    return balances_at(in_sql)


@ordered_case(
    PAYMENTS,
    "with `tidemark_in_order`, the first three by time",
    ordered=True,
    emits=[("a", "10:00"), ("b", "10:05"), ("a", "10:10")],
)
def first_of_a_view(in_order: Order, payments: DataFrame) -> DataFrame:
    """The first three payments of a view in SQL, by `LIMIT`."""
    where = "true" if in_order is as_they_come else "tidemark_in_order(at, '{}')"
    rows = ask(
        f"CREATE OR REPLACE TEMPORARY VIEW corpus_in_order AS SELECT * FROM corpus_all WHERE {where}",
        corpus_all=payments.withWatermark("at", "30 minutes"),
    )
    first = rows.sparkSession.sql("SELECT id, at FROM corpus_in_order LIMIT 3")
    return first.select("id", clock("at"))


IN_AND_OUT = inputs(
    dict.fromkeys(("paid_in", "paid_out"), "id STRING, at TIMESTAMP, amount LONG"),
    [[("a", "10:00", 100)], [("a", "10:20", -70), ("a", "10:40", -60)]],
    [[("a", "10:30", 50), ("b", "10:35", 10)], [("b", "10:45", -5)]],
    [[("a", "12:00", 5)], [("b", "12:01", -5)]],
    [[("a", "15:00", 5)], [("b", "15:00", -5)]],
)


@ordered_case(
    IN_AND_OUT,
    "with `in_order`, no account is below zero",
    emits=[
        ("a", "10:00", 100),
        ("a", "10:20", 30),
        ("a", "10:30", 80),
        ("a", "10:40", 20),
        ("b", "10:35", 10),
        ("b", "10:45", 5),
        ("a", "12:00", 25),
        ("b", "12:01", 0),
    ],
)
def balances_of_a_union(in_order: Order, paid_in: DataFrame, paid_out: DataFrame) -> DataFrame:
    """Running balances of a union of what is paid in and what is paid out."""
    both = paid_in.withWatermark("at", "30 minutes").union(
        paid_out.withWatermark("at", "30 minutes")
    )
    return balances_at(in_order(both, "at", by="id"))


SHOWN_AND_CLICKED = inputs(
    EACH,
    [[("a", "10:00"), ("b", "10:05")], [("a", "10:40"), ("b", "10:20")]],
    [[("c", "10:10")], [("a", "10:15"), ("b", "10:50")]],
    [[("d", "12:00")], [("d", "12:00"), ("c", "10:30")]],
    [[("e", "15:00")], [("e", "15:00")]],
    [[("f", "19:00")], [("f", "19:00")]],
)


@ordered_case(
    SHOWN_AND_CLICKED,
    "with `in_order`, the first one by time is kept",
    emits=[("a", "10:15"), ("b", "10:20"), ("c", "10:30"), ("d", "12:00"), ("e", "15:00")],
)
def first_clicks(in_order: Order, shown: DataFrame, clicked: DataFrame) -> DataFrame:
    """The first click on each picture: an inner join on a time range, then `dropDuplicates`."""
    pictures, found_clicks = (side.withWatermark("at", "30 minutes") for side in (shown, clicked))
    clicks = joined(pictures, found_clicks, "inner", "at2 BETWEEN at AND at + INTERVAL 1 HOUR")
    return in_order(clicks, "at2", by="id").dropDuplicates(["id"]).select("id", clock("at2"))


@ordered_case(
    READINGS,
    "with `in_order`, the first two by time",
    ordered=True,
    emits=[("d1", "10:01"), ("d3", "10:02")],
)
def first_two_devices(in_order: Order, readings: DataFrame) -> DataFrame:
    """The first two devices by their first readings: `dropDuplicates`, and `limit` behind it."""
    marked = readings.withWatermark("time", "10 minutes")
    first = in_order(marked, "time", by="device").dropDuplicates(["device"])
    return in_order(first, "time").limit(2).select("device", clock("time"))
