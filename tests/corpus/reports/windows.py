"""Reports about windows, sessions, aggregations and deduplication."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import tidemark
from corpus.cases import case
from corpus.inputs import CALLS, inputs
from corpus.reports.common import AT, DOORS, EACH, SPARK, hour
from corpus.sql import ask


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


@case(
    "report",
    DOORS,
    report=f"{SPARK}38288",
    stock="refused: the end of a window has no watermark",
    refused="STREAMING_OUTPUT_MODE",
    finds=["MARK_LOST"],
)
def windows_of_window_ends(doors: DataFrame) -> DataFrame:
    """Windows of windows by `window.end`, in place of `window_time`."""
    first = doors.withWatermark("at", "1 minute").groupBy(F.window("at", "10 minutes")).count()
    return first.groupBy(F.window("window.end", "1 hour")).agg(F.sum("count"))


@case(
    "report",
    inputs(
        {"calls": AT},
        [[("a", "10:00"), ("a", "10:08"), ("b", "10:00")]],
        [[("a", "10:04"), ("b", "10:09")]],
        [[("c", "10:15")]],
        # The first session of b has ended, so what would join it to the second one is late.
        [[("b", "10:05"), ("b", "10:04"), ("c", "10:40")]],
        [[("c", "13:00")]],
    ),
    report=f"{SPARK}31937",
    stock="one session, as long as the first of them is open",
    late=2,
)
def row_between_two_sessions(calls: DataFrame) -> DataFrame:
    """A row between two sessions of a key, which makes one session of them."""
    kept = calls.withWatermark("at", "5 minutes")
    sessions = kept.groupBy(F.session_window("at", "5 minutes"), "id")
    return sessions.agg(F.count("*").alias("n"), F.max("at"))


@case(
    "report",
    inputs(
        {"calls": AT},
        [[("a", "10:00"), ("b", "10:01")]],
        [[("a", "11:00")]],
        [[("a", "10:02"), ("a", "10:03"), ("b", "10:20"), ("c", "10:58")]],
        [[("a", "10:30"), ("c", "10:10")]],
    ),
    report=f"{SPARK}35854",
    stock="drops them, and its sessions once did not count them",
    why="ALL_LATE",
    late=5,
)
def late_rows_of_sessions(calls: DataFrame) -> DataFrame:
    """Rows that are late at session windows, and how many there were."""
    kept = calls.withWatermark("at", "5 minutes")
    return kept.groupBy(F.session_window("at", "5 minutes"), "id").count()


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "10:01")]],
        [[("a", "12:00")]],
        [[("a", "10:02"), ("a", "10:03"), ("a", "10:04"), ("a", "10:05"), ("b", "10:06")]],
        [[("a", "12:30")]],
    ),
    report=f"{SPARK}28607",
    stock="counts two late groups in place of five late rows",
    late=5,
)
def late_rows_in_few_groups(doors: DataFrame) -> DataFrame:
    """Five late rows of two windows and groups, and how many were late."""
    kept = doors.withWatermark("at", "10 minutes")
    return kept.groupBy(F.window("at", "1 hour"), "id").count()


@case(
    "report",
    DOORS,
    report=f"{SPARK}17268",
    stock="keeps every id forever",
    finds=["DEDUP_FOREVER"],
    why="NEVER_EVICTS",
    late=1,
)
def ids_kept_forever(doors: DataFrame) -> DataFrame:
    """Deduplication by an id behind a watermark, and how its state grows."""
    return doors.withWatermark("at", "10 minutes").dropDuplicates(["id"])


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:20"), ("b", "10:20")]],
        # Copies from before the first one, as far back as the delay and further.
        [[("a", "10:11"), ("b", "10:10"), ("c", "10:12")]],
        [[("c", "10:10:01"), ("a", "10:29:59"), ("b", "10:30")]],
        [[("a", "10:30"), ("b", "10:29")]],
        [[("b", "10:35"), ("a", "10:36")]],
        [[("a", "13:00")]],
    ),
    report=f"{SPARK}40561",
    stock="drops copies from up to the delay after the first one, and those before it",
)
def copies_from_before_the_first(doors: DataFrame) -> DataFrame:
    """Deduplication within the watermark, of copies with an earlier time than the first one."""
    return doors.withWatermark("at", "10 minutes").dropDuplicatesWithinWatermark(["id"])


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("x", "10:00")]],
        [[("x", "10:31"), ("a", "10:22")]],
        [[("x", "10:33")]],
        [[("b", "11:10"), ("c", "10:02"), ("d", "11:11")]],
    ),
    report=f"{SPARK}29623",
    stock="counts over all batches, also after one that had no row for it",
)
def limit_after_an_empty_batch(doors: DataFrame) -> DataFrame:
    """The first two rows behind a filter that leaves none of the first batch."""
    return doors.withWatermark("at", "10 minutes").where("id <> 'x'").limit(2)


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", None)]],
        [[("b", None), ("a", None), ("c", None)]],
        [[("a", "10:31"), ("b", "10:30"), ("c", None)]],
        [[("b", None), ("d", None)]],
        [[("a", "13:00"), ("d", "12:55")]],
    ),
    report="https://github.com/apache/calcite/pull/5137",
    stock="as if it were from 1970: it is emitted, and forgotten immediately",
    late=0,
)
def copies_without_a_time(doors: DataFrame) -> DataFrame:
    """Deduplication within the watermark, of rows of which some have no event time."""
    return doors.withWatermark("at", "10 minutes").dropDuplicatesWithinWatermark(["id"])


def late_rows_kept(doors: DataFrame) -> DataFrame:
    marked = doors.withWatermark("at", "10 minutes")
    hourly = marked.select("*", F.window("at", "1 hour").alias("window"))
    late = hourly.where(tidemark.is_late("window"))
    counts = hourly.groupBy("window").count()
    both = counts.unionByName(late, allowMissingColumns=True)
    return both.select("window", "count", "id", F.date_format("at", "HH:mm"))


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "10:30")]],
        [[("a", "12:20")]],
        [[("c", "10:50"), ("b", "12:05"), ("d", "11:10")]],
        [[("a", "14:00")]],
    ),
    report="https://github.com/risingwavelabs/risingwave/issues/23270",
    stock="drops them",
    differs="with `is_late`, they come out beside the counts",
    with_option=late_rows_kept,
    emits=[
        (hour(10), 2, None, None),
        (hour(10), None, "c", "10:50"),
        (hour(11), None, "d", "11:10"),
        (hour(12), 2, None, None),
    ],
    late=2,
)
def late_rows_for_another_table(doors: DataFrame) -> DataFrame:
    """Hourly counts, and what becomes of the rows that are late for them."""
    marked = doors.withWatermark("at", "10 minutes")
    return marked.groupBy(F.window("at", "1 hour")).count()
