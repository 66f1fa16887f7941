"""Reports about several inputs, silence, and the order of rows.

An option of Tidemark solves most of them. Those have a second query, with the option.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

import tidemark
from corpus.cases import case
from corpus.inputs import inputs
from corpus.reports.common import AT, EACH, SPARK, hour, joined, per_hour
from corpus.state import millis

# Python workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@case(
    "report",
    inputs(
        EACH,
        [[("a", "10:00")], [("b", "10:05")]],
        [[("a", "12:00")], []],
        [[("a", "14:00")], []],
        [[], [("b", "10:20"), ("b", "11:00")]],
        [[("a", "16:00")], [("b", "16:00")]],
        [[("a", "20:00")], [("b", "20:00")]],
    ),
    report="https://github.com/apache/beam/issues/39822",
    stock="holds, and its rows are on time",
)
def silent_for_two_batches(left: DataFrame, right: DataFrame) -> DataFrame:
    """An input of a union that has no rows in some batches, and then is far behind."""
    left_rows, right_rows = (each.withWatermark("at", "10 minutes") for each in (left, right))
    return per_hour(left_rows.union(right_rows), "id")


TWO_OF_THREE = inputs(
    {"one": AT, "two": AT, "three": AT},
    [[("a", "10:00")], [("b", "10:05")], []],
    [[], [("b", "13:00")], [("c", "13:30")]],
    [[("a", "13:10")], [], [("c", "15:00")]],
    [[("a", "19:00")], [("b", "19:00")], []],
    [[("a", "23:00")], [("b", "23:00")], [("c", "23:00")]],
)


@case(
    "report",
    TWO_OF_THREE,
    report=f"{SPARK}48570",
    stock="forgets the watermarks after each run, and waits for a run with rows of all three",
    differs="a restart remembers the watermark of each input",
    same_rows=True,
    available_now=True,
)
def two_of_three_inputs(first: DataFrame, second: DataFrame, third: DataFrame) -> DataFrame:
    """Scheduled runs of a union of three inputs, of which each time one has no rows."""
    kept = [each.withWatermark("at", "10 minutes") for each in (first, second, third)]
    return per_hour(kept[0].union(kept[1]).union(kept[2]), "id")


ENDED = inputs(
    EACH,
    [[("a", "10:00"), ("b", "10:02")], [("a", "10:01"), ("c", "10:03")]],
    [[("c", "11:00")], []],
    [[("d", "12:00")], []],
    [[("e", "13:00")], []],
    [[("f", "14:00")], []],
    [[("g", "18:00")], [("g", "18:00")]],
    [[("h", "23:00")], [("h", "23:00")]],
)
WITHIN_TEN_MINUTES = "at2 BETWEEN at AND at + INTERVAL 10 MINUTES"


def ended_and_left_out(left: DataFrame, right: DataFrame) -> DataFrame:
    idle = tidemark.Idle(after="1 millisecond", at_join="follow")
    left_rows = left.withWatermark("at", "1 minute")
    right_rows = tidemark.with_watermark(right, "at", "1 minute", key="right", idle=idle)
    return joined(left_rows, right_rows, "leftOuter", WITHIN_TEN_MINUTES)


@case(
    "report",
    ENDED,
    report="https://github.com/DataSQRL/sqrl/issues/308",
    stock="unmatched rows wait for it",
    differs="with `Idle(at_join='follow')`, the join goes on without the silent input",
    same_rows=True,
    available_now=True,
    conf={"spark.tidemark.downtimeIsSilence": "true"},
    with_option=ended_and_left_out,
)
def joined_with_an_input_that_has_ended(left: DataFrame, right: DataFrame) -> DataFrame:
    """Left outer join with an input that has no more rows for a long time; scheduled runs."""
    left_rows = left.withWatermark("at", "1 minute")
    return joined(left_rows, right.withWatermark("at", "1 minute"), "leftOuter", WITHIN_TEN_MINUTES)


PAYMENTS = inputs(
    {"payments": "id STRING, at TIMESTAMP, amount LONG"},
    [[("a", "10:00", 100), ("a", "10:20", -70)]],
    [[("a", "10:10", 50), ("b", "10:15", 10)]],
    [[("a", "10:40", -60), ("b", "10:05", 20), ("a", "10:30", 40)]],
    [[("a", "12:00", 5)]],
    [[("a", "15:00", 0)]],
)


def balance(
    key: tuple[str], pieces: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """The balance after each payment, in the order in which they come."""
    known = state.get[0] if state.exists else 0
    rows = []
    for piece in pieces:
        for at, amount in zip(piece["at"], piece["amount"], strict=True):
            known += amount
            rows.append((key[0], millis(at), known))
    state.update((known,))
    yield pd.DataFrame(rows, columns=["id", "millis", "balance"])


def balances(payments: DataFrame) -> DataFrame:
    return payments.groupBy("id").applyInPandasWithState(
        balance,
        "id STRING, millis LONG, balance LONG",
        "balance LONG",
        "append",
        GroupStateTimeout.NoTimeout,
    )


def balances_in_order(payments: DataFrame) -> DataFrame:
    marked = tidemark.with_watermark(payments, "at", "30 minutes")
    return balances(tidemark.in_order(marked, "at", by="id"))


@case(
    "report",
    PAYMENTS,
    report="https://lam-tran.dev/blog/tags/structured-streaming",
    stock="balances in the order of arrival",
    differs="with `in_order`, payments come in the order of their times",
    with_option=balances_in_order,
)
def balances_of_accounts(payments: DataFrame) -> DataFrame:
    """A running balance by a function with state; payments arrive out of order."""
    return balances(payments.withWatermark("at", "30 minutes"))


APART = inputs(
    EACH,
    [[("a", "10:00"), ("a", "11:20")], [("b", "10:05")]],
    [[("a", "13:00")], [("b", "10:20")]],
    [[("a", "14:00")], [("b", "10:40"), ("b", "11:30")]],
    [[("a", "20:00")], [("b", "20:00")]],
)


@case(
    "report",
    APART,
    report="https://github.com/apache/beam/issues/23129",
    stock="the windows of both wait for the slower one",
    differs="each input has a watermark of its own",
    same_rows=True,
    emits=[
        (hour(10), "a", 1),
        (hour(11), "a", 1),
        (hour(10), "b", 3),
        (hour(11), "b", 1),
        (hour(13), "a", 1),
        (hour(14), "a", 1),
    ],
)
def two_counts_in_one_query(left: DataFrame, right: DataFrame) -> DataFrame:
    """Two inputs that share nothing but the query: the hourly counts of each."""
    counts = [per_hour(each.withWatermark("at", "10 minutes"), "id") for each in (left, right)]
    return counts[0].union(counts[1])


LOADED = inputs(
    {"history": AT, "live": AT},
    [[("old", "08:10"), ("old", "08:50"), ("old", "09:30")], [("new", "12:00")]],
    [[], [("new", "12:20")]],
    [[], [("new", "13:30")]],
    [[], [("new", "14:30")]],
    [[], [("new", "15:30")]],
)


def loaded_and_left_out(history: DataFrame, live: DataFrame) -> DataFrame:
    old = tidemark.with_watermark(
        history, "at", "10 minutes", key="history", idle_after="1 millisecond"
    )
    return per_hour(old.union(live.withWatermark("at", "10 minutes")), "id")


@case(
    "report",
    LOADED,
    report="https://github.com/koralium/flowtide/issues/825",
    stock="nothing more comes out once the history has been read",
    differs="with `idle_after`, an input that has ended holds nothing",
    available_now=True,
    conf={"spark.tidemark.downtimeIsSilence": "true"},
    with_option=loaded_and_left_out,
    emits=[
        (hour(8), "old", 2),
        (hour(9), "old", 1),
        (hour(12), "new", 2),
        (hour(13), "new", 1),
        (hour(14), "new", 1),
    ],
)
def history_and_live_rows(history: DataFrame, live: DataFrame) -> DataFrame:
    """A union of a history that is read once, and of live rows; scheduled runs."""
    both = (each.withWatermark("at", "10 minutes") for each in (history, live))
    return per_hour(next(both).union(next(both)), "id")


def loaded_at_once(history: DataFrame, live: DataFrame) -> DataFrame:
    old, new = (
        tidemark.with_watermark(each, "at", "10 minutes", key=key)
        for key, each in (("history", history), ("live", live))
    )
    return per_hour(old.union(new), "id")


@case(
    "report",
    inputs(
        {"history": AT, "live": AT},
        [[("old", "08:10")], [("new", "12:00")]],
        [[("old", "08:50"), ("old", "09:30")], [("new", "12:20")]],
        [[("old", "12:10")], [("new", "13:30")]],
        [[("old", "20:00")], [("new", "20:00")]],
    ),
    report="https://github.com/opensearch-project/opensearch-spark/issues/964",
    stock="drops the rows of the table that is behind",
    differs="each input has a watermark of its own",
    with_option=loaded_at_once,
    late=0,
    emits=[
        (hour(8), "old", 2),
        (hour(9), "old", 1),
        (hour(12), "new", 2),
        (hour(12), "old", 1),
        (hour(13), "new", 1),
    ],
)
def watermark_of_a_union(history: DataFrame, live: DataFrame) -> DataFrame:
    """One watermark on a union of two tables, of which one is behind; here one on each."""
    return per_hour(history.union(live).withWatermark("at", "10 minutes"), "id")
