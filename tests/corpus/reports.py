"""What people have reported of event time, each as a small query of its own.

A few reports are about something that an option of Tidemark solves. Those have a second query, with the option.
"""

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

import tidemark
from corpus.cases import case
from corpus.inputs import CALLS, WORDS, inputs
from corpus.joins import TWO_TIMES
from corpus.sql import ask
from corpus.state import ROCKSDB, count_sessions, millis

# Python workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SPARK = "https://github.com/apache/spark/pull/"

AT = "id STRING, at TIMESTAMP"

# Rows in their order, a late one, and a last one that closes all windows.
DOORS = inputs(
    {"doors": AT},
    [[("a", "10:00"), ("b", "10:04")]],
    [[("a", "10:31"), ("c", "10:22")]],
    [[("b", "10:33"), ("d", "10:05"), ("a", "10:31")]],
    [[("c", "11:10"), ("c", "10:50")]],
    [[("e", "13:00")]],
)

EACH = {"left": AT, "right": AT}
NO_EMPTY_BATCHES = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}


def per_hour(marked: DataFrame, *by: str) -> DataFrame:
    return marked.groupBy(F.window("at", "1 hour"), *by).count()


def joined(left: DataFrame, right: DataFrame, how: str, within: str) -> DataFrame:
    return left.join(right.toDF("id2", "at2"), F.expr(f"id = id2 AND {within}"), how)


# Late rows and watermarks


@case(
    "report",
    DOORS,
    report=f"{SPARK}56043",
    stock="late, and dropped",
)
def same_time_in_a_later_batch(doors: DataFrame) -> DataFrame:
    """No delay, and a row of the very time of the newest row before it."""
    return doors.withWatermark("at", "0 seconds").dropDuplicates(["id", "at"])


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("a", "19:00"), ("b", "10:20"), ("c", "10:40")]],
        [[("b", "10:50"), ("c", "18:30"), ("c", "17:59:59")]],
        [[("a", "23:00"), ("b", "18:10")]],
        [[("a", "2024-01-02T12:00:00Z")]],
    ),
    report="https://stackoverflow.com/questions/45579100",
    stock="on time: a watermark holds from the next batch on",
)
def behind_in_one_batch(doors: DataFrame) -> DataFrame:
    """Rows that are hours behind a row of their own batch."""
    return per_hour(doors.withWatermark("at", "1 hour"))


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "10:05")]],
        [[("a", "10:55")]],
        [[("b", "10:10"), ("c", "09:50")]],
        [[("a", "12:30")]],
        [[("a", "14:30"), ("c", "10:15")]],
    ),
    report="https://github.com/laminardb/laminardb/issues/65",
    stock="counted, as long as its window has not ended",
)
def late_in_an_open_window(doors: DataFrame) -> DataFrame:
    """A row behind the watermark whose window is still open."""
    return per_hour(doors.withWatermark("at", "20 minutes"))


@case(
    "report",
    WORDS,
    report="https://coderoad.ru/52944612/Структурированная-потоковая-передача-Spark-"
    "показывает-результаты-слишком-поздно",
    stock="with the batch after it",
    conf=NO_EMPTY_BATCHES,
)
def windows_a_batch_later(words: DataFrame) -> DataFrame:
    """When windows come out that the newest row has closed; without batches that have no data."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.window("timestamp", "10 minutes")).count()


@case(
    "report",
    DOORS,
    mode="update",
    report="https://www.waitingforcode.com/apache-spark-structured-streaming/"
    "watermarks-not-grouped-query-why-they-dont-work/read",
    stock="counts them",
)
def late_rows_of_a_count_of_all(doors: DataFrame) -> DataFrame:
    """Late rows of a count of everything, behind a watermark; update mode."""
    return doors.withWatermark("at", "1 minute").agg(F.count("id").alias("n"))


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "10:20")]],
        [[("b", "11:40"), ("b", "11:50")]],
        [[("a", "10:30"), ("b", "13:00")]],
        [[("a", "15:00")]],
        [[("a", "18:00")]],
    ),
    report="https://github.com/hazelcast/hazelcast/issues/20740",
    stock="the watermark waits: the filter comes first",
)
def all_new_rows_filtered_out(doors: DataFrame) -> DataFrame:
    """A filter behind the watermark, which for a while drops every new row."""
    return per_hour(doors.withWatermark("at", "10 minutes").where("id = 'a'"))


@case("report", DOORS, report=f"{SPARK}17202", stock="refused", refused="negative")
def negative_delay(doors: DataFrame) -> DataFrame:
    """A delay of a month less forty days."""
    return per_hour(doors.withWatermark("at", "1 month -40 days"))


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "2024-01-31T23:00:00Z")]],
        [[("a", "2024-02-01T09:00:00Z"), ("a", "11:30")]],
        [[("c", "2024-02-01T13:00:00Z"), ("b", "10:30")]],
        [[("a", "12:05"), ("a", "2024-06-01T00:00:00Z")]],
    ),
    report=f"{SPARK}16304",
    stock="31 days",
)
def delay_of_a_month(doors: DataFrame) -> DataFrame:
    """How long a delay of one month is."""
    return per_hour(doors.withWatermark("at", "1 month"))


@case(
    "report",
    DOORS,
    report=f"{SPARK}54253",
    stock="refused",
    refused="EVENT_TIME_MUST_BE_TOP_LEVEL_COLUMN",
    since="4.2",
)
def time_inside_a_struct(doors: DataFrame) -> DataFrame:
    """A watermark on a field of a struct."""
    return doors.select("id", F.struct("at").alias("event")).withWatermark("event.at", "1 minute")


@case(
    "report",
    inputs(
        {"doors": "id STRING, at TIMESTAMP_NTZ"},
        [[("a", "2024-01-01T10:00:00"), ("b", "2024-01-01T10:04:00")]],
        [[("a", "2024-01-01T13:00:00")]],
    ),
    report=f"{SPARK}33965",
    stock="refused",
    refused="EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE",
)
def times_without_a_zone(doors: DataFrame) -> DataFrame:
    """Session windows of times without a zone, with a watermark."""
    kept = doors.withWatermark("at", "10 minutes")
    return kept.groupBy(F.session_window("at", "5 minutes"), "id").count()


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "2024-03-09T23:30:00-05:00"), ("b", "2024-03-10T00:30:00-05:00")]],
        [[("a", "2024-03-10T23:30:00-04:00"), ("b", "2024-03-11T00:30:00-04:00")]],
        [[("a", "2024-03-12T12:00:00-04:00"), ("b", "2024-03-10T12:00:00-04:00")]],
        [[("a", "2024-03-20T00:00:00-04:00")]],
    ),
    report="http://datalackey.com/2019/09/05/time-travails-with-java-scala-and-apache-spark/",
    stock="days of UTC, shifted by the offset, in summer too",
    conf={"spark.sql.session.timeZone": "America/New_York"},
)
def days_of_a_time_zone(doors: DataFrame) -> DataFrame:
    """Windows of a day in New York, by an offset, across the change to summer time."""
    kept = doors.withWatermark("at", "1 hour")
    return kept.groupBy(F.window("at", "1 day", startTime="5 hours"), "id").count()


# Windows and aggregations


@case(
    "report",
    CALLS,
    mode="update",
    report=f"{SPARK}33548",
    stock="refused",
    refused="STREAMING_OUTPUT_MODE",
)
def session_windows_updated(calls: DataFrame) -> DataFrame:
    """Session windows in update mode, as Spark's example had them."""
    kept = calls.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.session_window("timestamp", "5 minutes"), "userId").count()


@case(
    "report",
    DOORS,
    report=f"{SPARK}20840",
    stock="never emits anything",
    differs="a second watermark is allowed behind an aggregation",
)
def watermark_of_an_aggregate(doors: DataFrame) -> DataFrame:
    """The newest time of each window gets a watermark of its own, and is counted by the hour."""
    first = doors.withWatermark("at", "1 minute").groupBy(F.window("at", "10 minutes"))
    newest = first.agg(F.max("at").alias("newest")).select("newest")
    marked = newest.withWatermark("newest", "10 minutes")
    return marked.groupBy(F.window("newest", "1 hour")).count()


@case(
    "report",
    inputs(EACH, [[("a", "10:00")], [("b", "10:00")]]),
    report=f"{SPARK}29256",
    stock="refused",
    refused="STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
)
def union_of_sql(left: DataFrame, right: DataFrame) -> DataFrame:
    """`UNION` in SQL, which drops duplicates, without a watermark; append mode."""
    query = "SELECT id FROM corpus_left UNION SELECT id FROM corpus_right"
    return ask(query, corpus_left=left, corpus_right=right)


# Deduplication


@case(
    "report",
    DOORS,
    report=f"{SPARK}58261",
    stock="emits late rows of a new id, which it would drop with the time",
)
def time_dropped_after_duplicates(doors: DataFrame) -> DataFrame:
    """Deduplication by the id, behind which nothing uses the event time."""
    return doors.withWatermark("at", "10 minutes").dropDuplicates(["id"]).select("id")


@case("report", DOORS, report=f"{SPARK}49065", stock="drops late rows and duplicates")
def time_dropped_after_duplicates_within(doors: DataFrame) -> DataFrame:
    """The same with deduplication within the watermark."""
    kept = doors.withWatermark("at", "10 minutes")
    return kept.dropDuplicatesWithinWatermark(["id"]).select("id")


@case(
    "report",
    inputs(
        {"doors": "note STRING, id STRING, at TIMESTAMP"},
        [[("x", "a", "10:00"), ("y", "b", "10:04"), ("z", "a", "10:00")]],
        [[("x", "a", "10:31"), ("y", "a", "10:00")]],
        [[("z", "d", "10:05"), ("x", "a", "10:31"), ("x", "c", "10:30")]],
        [[("x", "e", "13:00")]],
    ),
    report=f"{SPARK}17183",
    stock="drops late rows by the right column",
)
def time_among_other_columns(doors: DataFrame) -> DataFrame:
    """Deduplication by two columns that stand in another order in the row."""
    return doors.withWatermark("at", "10 minutes").dropDuplicates(["at", "id"])


def twice(batch: DataFrame) -> DataFrame:
    """Two jobs on one batch, each of which computes the batch itself."""
    batch.count()
    return batch.union(batch)


@case(
    "report",
    DOORS,
    report="https://github.com/delta-io/delta/issues/370",
    stock="the same rows both times",
    in_batch=twice,
)
def batch_read_twice(doors: DataFrame) -> DataFrame:
    """Deduplication, and a `foreachBatch` that reads its batch more than once."""
    return doors.withWatermark("at", "10 minutes").dropDuplicatesWithinWatermark(["id"])


def from_rdd(batch: DataFrame) -> DataFrame:
    return batch.sparkSession.createDataFrame(batch.rdd, batch.schema)


@case(
    "report",
    inputs(
        {"orders": "id STRING, at TIMESTAMP"},
        [[("a", "10:00:31"), ("b", "10:04:10")]],
        [[("a", "10:31:07"), ("c", "10:22:40")]],
        [[("b", "10:33:59"), ("d", "10:05:01")]],
        [[("e", "13:00")]],
    ),
    report="https://github.com/samelamin/spark-bigquery/issues/20",
    stock="the rows of the windows",
    in_batch=from_rdd,
)
def batch_as_an_rdd(orders: DataFrame) -> DataFrame:
    """Sliding windows of times that are text in between; the sink makes an RDD of each batch."""
    minute = F.date_format("at", "yyyy-MM-dd'T'HH:mm").cast("timestamp")
    kept = orders.withColumn("at", minute).withWatermark("at", "10 minutes")
    return kept.groupBy(F.window("at", "10 minutes", "5 minutes")).count()


# Joins

SELF = inputs(
    {"events": "id LONG, at TIMESTAMP"},
    [[(1, "10:00:00"), (2, "10:00:01"), (3, "10:00:02"), (4, "10:00:03"), (5, "10:00:04")]],
    [[(6, "10:00:05"), (7, "10:00:06"), (8, "10:00:07"), (9, "10:00:08"), (10, "10:00:09")]],
    [[(6, "10:00:09"), (11, "10:00:10"), (12, "10:00:12"), (4, "10:00:05")]],
    [[(14, "10:00:30"), (13, "10:00:26"), (12, "10:00:14")]],
    [[(20, "10:05")]],
)


@case("report", SELF, report=f"{SPARK}26108", stock="no row with nulls for a row with a match")
def nulls_for_matched_rows(events: DataFrame) -> DataFrame:
    """Left outer join of a stream with the even rows of itself; one side is forgotten earlier."""
    left = events.withWatermark("at", "5 seconds")
    right = events.where("id % 2 = 0").toDF("id2", "at2").withWatermark("at2", "5 seconds")
    within = F.expr("id = id2 AND at2 >= at AND at2 <= at + INTERVAL 5 SECONDS")
    return left.join(right, within, "leftOuter")


BEHIND = inputs(
    EACH,
    [[("a", "10:00"), ("b", "10:02")], [("b", "10:02"), ("c", "10:01")]],
    [[("a", "10:30"), ("d", "10:01")], [("e", "10:31"), ("f", "10:01")]],
    [[("g", "10:31")], [("d", "10:01"), ("g", "10:32")]],
    [[("h", "11:30")], [("h", "11:30")]],
    [[("i", "15:00")], [("i", "15:00")]],
)


@case(
    "report",
    BEHIND,
    report=f"{SPARK}48297",
    stock="emits it with nulls",
    conf=NO_EMPTY_BATCHES,
)
def forgotten_on_arrival(left: DataFrame, right: DataFrame) -> DataFrame:
    """Full outer join; a row is so old that the join forgets it in the batch that brings it."""
    within = "at2 BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 1 MINUTE"
    left_rows = left.withWatermark("at", "5 minutes")
    return joined(left_rows, right.withWatermark("at", "5 minutes"), "fullOuter", within)


RANGE = inputs(
    EACH,
    [[("a", "10:00"), ("b", "10:20")], [("a", "10:05"), ("b", "10:05"), ("b", "10:20")]],
    [[("a", "10:12"), ("c", "10:40")], [("c", "11:00"), ("a", "10:01")]],
    [[("c", "11:20"), ("b", "10:16"), ("a", "10:14")], [("a", "11:10"), ("b", "10:50")]],
    [[("d", "14:00")], [("d", "13:00"), ("c", "11:05")]],
    [[("d", "18:00"), ("c", "11:25")], [("d", "17:00")]],
)


@case("report", RANGE, report=f"{SPARK}44323", stock="all matches of rows that are on time")
def watermark_of_one_side_and_a_range(left: DataFrame, right: DataFrame) -> DataFrame:
    """Inner join on a bound to one side, with a watermark on the right alone."""
    within = "at > at2 + INTERVAL 10 MINUTES"
    return joined(left, right.withWatermark("at", "5 minutes"), "inner", within)


@case(
    "report",
    RANGE,
    report=f"{SPARK}58238",
    stock="unmatched rows as soon as the right is past them",
)
def watermark_of_one_equal_time(left: DataFrame, right: DataFrame) -> DataFrame:
    """Left outer join on equal times, with a watermark on the right alone."""
    return joined(left, right.withWatermark("at", "5 minutes"), "leftOuter", "at = at2")


@case("report", BEHIND, report=f"{SPARK}54786", stock="unmatched rows when their window is over")
def joined_by_windows(left: DataFrame, right: DataFrame) -> DataFrame:
    """Left outer join on the id and a window of each side, without the times themselves."""
    window = F.window("at", "10 minutes").alias("window")
    left_rows = left.withWatermark("at", "5 minutes").select("id", window, F.lit("left").alias("l"))
    right_rows = right.withWatermark("at", "5 minutes").select(
        "id", window, F.lit("right").alias("r")
    )
    return left_rows.join(right_rows, ["id", "window"], "leftOuter")


@case(
    "report",
    BEHIND,
    report="https://github.com/sparklyr/sparklyr/issues/1977",
    stock="refused",
    refused="Stream-stream LeftOuter join",
)
def outer_join_by_id_alone(left: DataFrame, right: DataFrame) -> DataFrame:
    """Left outer join of two inputs with watermarks, on the ids and no times."""
    left_rows = left.withWatermark("at", "5 minutes")
    return joined(left_rows, right.withWatermark("at", "5 minutes"), "leftOuter", "true")


THREE = inputs(
    {"b": AT, "c": AT, "d": AT},
    [[("x", "10:00"), ("y", "10:01"), ("z", "10:02")], [("x", "10:01")], [("x", "10:02")]],
    [[("w", "10:20")], [("z", "10:03"), ("w", "10:21")], [("y", "10:03"), ("w", "10:22")]],
    [[("v", "10:40")], [("v", "10:40")], [("w", "10:24"), ("v", "10:41")]],
    [[("u", "12:00")], [("u", "12:00")], [("u", "12:00")]],
    [[("t", "16:00")], [("t", "16:00")], [("t", "16:00")]],
)


@case(
    "report",
    THREE,
    report=f"{SPARK}24936",
    stock="once lost rows of the first join, and is refused now",
    refused="More than one event time columns",
    differs=TWO_TIMES,
)
def outer_join_of_an_outer_join(b: DataFrame, c: DataFrame, d: DataFrame) -> DataFrame:
    """Two left outer joins one behind the other, on times within ten minutes."""
    first, second, third = (
        each.toDF(f"id{name}", f"at{name}").withWatermark(f"at{name}", "1 minute")
        for name, each in (("b", b), ("c", c), ("d", d))
    )
    pairs = first.join(
        second, F.expr("idb = idc AND atc BETWEEN atb AND atb + INTERVAL 10 MINUTES"), "leftOuter"
    )
    within = F.expr("idb = idd AND atd BETWEEN atb AND atb + INTERVAL 10 MINUTES")
    return pairs.join(third, within, "leftOuter")


# Code with state


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


# Several inputs, splits and silence


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


JUMP = inputs(
    {"doors": AT},
    [[("a", "10:00"), ("b", "10:10")]],
    [[("c", "2100-01-01T00:00:00Z")]],
    [[("a", "10:20"), ("b", "11:15")]],
    [[("a", "13:00"), ("b", "12:20")]],
    [[("a", "15:00")]],
)


def limited(doors: DataFrame) -> DataFrame:
    marked = tidemark.with_watermark(doors, "at", "10 minutes", max_ahead="1 day")
    return per_hour(marked, "id")


@case(
    "report",
    JUMP,
    report="https://github.com/turbolytics/sql-flow/issues/358",
    stock="drops every later row",
    differs="with `max_ahead`, a row from the future advances no watermark",
    with_option=limited,
    quick=True,
)
def one_row_from_the_future(doors: DataFrame) -> DataFrame:
    """One row with a time in the future, and correct rows after it."""
    return per_hour(doors.withWatermark("at", "10 minutes"), "id")


FLEET = inputs(
    {"readings": AT},
    [[("fast", "12:00"), ("slow", "10:00")]],
    [[("fast", "12:30"), ("slow", "10:20")]],
    [[("slow", "11:10"), ("slow", "11:50")]],
    [[("fast", "14:10"), ("slow", "14:05")]],
    [[("fast", "18:00"), ("slow", "18:00")]],
)


def by_device(readings: DataFrame) -> DataFrame:
    marked = tidemark.with_watermark(readings, "at", "10 minutes", split_by="id")
    return per_hour(marked, "id")


@case(
    "report",
    FLEET,
    report="https://github.com/quixio/quix-streams/pull/591",
    stock="drops the rows of the slower device",
    differs="with `split_by`, the slowest device holds the watermark",
    with_option=by_device,
    quick=True,
)
def devices_out_of_step(readings: DataFrame) -> DataFrame:
    """Devices that send at different times, of which one is hours behind."""
    return per_hour(readings.withWatermark("at", "10 minutes"), "id")


PARTITIONS = inputs(
    {"records": "part INT, at TIMESTAMP"},
    [[(0, "12:00"), (0, "12:40")]],
    [[(1, "10:00"), (1, "10:50")]],
    [[(2, "09:30"), (0, "13:10")]],
    [[(2, "14:00"), (1, "14:10"), (0, "14:20")]],
    [[(2, "18:00"), (1, "18:00"), (0, "18:00")]],
)


def by_expected_partition(records: DataFrame) -> DataFrame:
    parts = tidemark.SplitBy("part", expected=range(3))
    return per_hour(tidemark.with_watermark(records, "at", "10 minutes", split_by=parts), "part")


@case(
    "report",
    PARTITIONS,
    report="https://github.com/apache/beam/issues/19411",
    stock="drops the rows of those that are read later",
    differs="with `SplitBy(expected=...)`, the watermark waits for each partition",
    with_option=by_expected_partition,
)
def partitions_read_in_turn(records: DataFrame) -> DataFrame:
    """Partitions of a backlog of which the newest one is read first."""
    return per_hour(records.withWatermark("at", "10 minutes"), "part")


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


# Of the reports that were tried first: what Tidemark once got wrong.


def old_columns_and_a_key(doors: DataFrame) -> DataFrame:
    marked = tidemark.with_watermark(doors, "at", "10 minutes", key="doors", split_by="id")
    return marked.groupBy(F.window(doors.at, "1 hour"), doors.id).count()


@case(
    "report",
    DOORS,
    report=f"{SPARK}17371",
    stock="refused in append mode",
    refused="STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
    with_option=old_columns_and_a_key,
)
def columns_from_before_the_watermark(doors: DataFrame) -> DataFrame:
    """Columns of the DataFrame that has no watermark yet, counted in windows; here a keyed one."""
    marked = doors.withWatermark("at", "10 minutes")
    return marked.groupBy(F.window(doors.at, "1 hour"), doors.id).count()


def old_columns(doors: DataFrame, keyed: bool) -> DataFrame:
    later_doors = doors.select(doors.id.alias("id2"), doors.at.alias("at2"))
    if keyed:
        left = tidemark.with_watermark(doors, "at", "10 minutes", key="doors")
        right = tidemark.with_watermark(later_doors, "at2", "10 minutes", key="again")
    else:
        left, right = (
            doors.withWatermark("at", "10 minutes"),
            later_doors.withWatermark("at2", "10 minutes"),
        )
    hour = F.expr("INTERVAL 1 HOUR")
    within = (
        (doors.id == later_doors.id2)
        & (later_doors.at2 > doors.at)
        & (later_doors.at2 <= doors.at + hour)
    )
    return left.join(right, within)


def old_columns_of_keyed_inputs(doors: DataFrame) -> DataFrame:
    return old_columns(doors, keyed=True)


@case("report", DOORS, stock="finds them", with_option=old_columns_of_keyed_inputs)
def join_on_columns_from_before(doors: DataFrame) -> DataFrame:
    """A join whose condition names such columns; here with keyed watermarks."""
    return old_columns(doors, keyed=False)


def marked_twice_with_a_key(doors: DataFrame) -> DataFrame:
    once = tidemark.with_watermark(doors, "at", "10 minutes", key="doors")
    return per_hour(tidemark.with_watermark(once, "at", "10 minutes", key="doors"), "id")


@case(
    "report",
    DOORS,
    stock="refused",
    refused="Redefining watermark",
    differs="the same call twice counts once",
    with_option=marked_twice_with_a_key,
)
def watermark_set_twice(doors: DataFrame) -> DataFrame:
    """The same watermark set twice on one column; here with the same key."""
    once = doors.withWatermark("at", "10 minutes")
    return per_hour(once.withWatermark("at", "10 minutes"), "id")


SPELLINGS = inputs(
    {"readings": AT},
    [[("Boiler", "12:00"), ("mill", "12:30")]],
    [[("boiler", "13:10"), ("MILL", "13:20")]],
    [[("BOILER", "14:00"), ("Mill", "14:10")]],
    [[("boiler", "16:00"), ("mill", "16:00")]],
)


def by_spelling(readings: DataFrame) -> DataFrame:
    parts = tidemark.SplitBy(F.expr("id COLLATE UTF8_LCASE"), expected=["BOILER", "mill"])
    return per_hour(tidemark.with_watermark(readings, "at", "0 seconds", split_by=parts))


@case(
    "report",
    SPELLINGS,
    report=f"{SPARK}45951",
    stock="one clock for all",
    with_option=by_spelling,
)
def spellings_of_a_device(readings: DataFrame) -> DataFrame:
    """Names of devices that differ in case alone; here each device is a split."""
    return per_hour(readings.withWatermark("at", "0 seconds"))


ZEROS = inputs(
    {"readings": "id DOUBLE, at TIMESTAMP"},
    [[(0.0, "12:00"), (1.0, "12:00")]],
    [[(-0.0, "13:10"), (1.0, "13:20")]],
    [[(-0.0, "14:00"), (1.0, "14:00")]],
    [[(0.0, "16:00"), (1.0, "16:00")]],
)


def by_number(readings: DataFrame) -> DataFrame:
    marked = tidemark.with_watermark(readings, "at", "0 seconds", split_by="id")
    return per_hour(marked, "id")


@case("report", ZEROS, report=f"{SPARK}23043", stock="one group", with_option=by_number)
def zero_and_minus_zero(readings: DataFrame) -> DataFrame:
    """`0.0` and `-0.0` as the name of a group; here of a split as well."""
    return per_hour(readings.withWatermark("at", "0 seconds"), "id")
