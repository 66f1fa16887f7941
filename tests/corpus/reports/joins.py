"""Reports about joins of two streams."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from corpus.cases import case
from corpus.inputs import inputs
from corpus.joins import TWO_TIMES
from corpus.reports.common import AT, EACH, NO_EMPTY_BATCHES, SPARK, joined, per_hour

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


@case(
    "report",
    BEHIND,
    report=f"{SPARK}57813",
    stock="refused",
    refused="LeftAnti join",
    finds=["SPARK_REFUSES"],
)
def rows_without_a_match(left: DataFrame, right: DataFrame) -> DataFrame:
    """Left anti join on a time range."""
    left_rows = left.withWatermark("at", "5 minutes")
    within = "at2 BETWEEN at AND at + INTERVAL 10 MINUTES"
    return joined(left_rows, right.withWatermark("at", "5 minutes"), "leftAnti", within)


@case(
    "report",
    inputs(
        EACH,
        [[("a", "10:00"), ("a", "10:00"), ("b", "10:02")], [("a", "10:03"), ("a", "10:04")]],
        [[("a", "10:01"), ("c", "10:20")], [("b", "10:05"), ("b", "10:06"), ("c", "10:19")]],
        [[("d", "10:40")], [("c", "10:21"), ("c", "10:22"), ("d", "10:39")]],
        [[("e", "12:00")], [("d", "10:41"), ("e", "12:00")]],
        [[("f", "15:00")], [("f", "15:00")]],
    ),
    report=f"{SPARK}54769",
    stock="each left row once, however often it matches",
)
def matched_more_than_once(left: DataFrame, right: DataFrame) -> DataFrame:
    """Left semi join; left rows have several matches, in the same batch and later."""
    left_rows = left.withWatermark("at", "5 minutes")
    within = "at2 BETWEEN at AND at + INTERVAL 10 MINUTES"
    return joined(left_rows, right.withWatermark("at", "5 minutes"), "leftSemi", within)


@case(
    "report",
    BEHIND,
    mode="update",
    since="4.2",
    report=f"{SPARK}55249",
    stock="counts of windows as soon as there are matches",
)
def windows_of_a_join_updated(left: DataFrame, right: DataFrame) -> DataFrame:
    """Inner join, then counts in windows; update mode."""
    left_rows = left.withWatermark("at", "5 minutes")
    within = "at2 BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 1 MINUTE"
    pairs = joined(left_rows, right.withWatermark("at", "5 minutes"), "inner", within)
    return per_hour(pairs.drop("at2"))


@case(
    "report",
    BEHIND,
    report="https://github.com/opensearch-project/opensearch-spark/issues/474",
    stock="joins them, and keeps them forever",
    finds=["NEVER_EVICTS"],
    why="NEVER_EVICTS",
)
def joined_by_starts_of_windows(left: DataFrame, right: DataFrame) -> DataFrame:
    """Counts in windows of each input, joined by the start of the window."""
    counts = [
        each.withWatermark("at", "1 second")
        .groupBy(F.window("at", "10 minutes"))
        .count()
        .selectExpr("window.start AS start", f"count AS {name}")
        for name, each in (("n", left), ("m", right))
    ]
    return counts[0].join(counts[1], "start")


@case(
    "report",
    inputs(
        EACH,
        [[("a", "10:00"), ("b", "10:01")], [("a", "10:01")]],
        [[("c", "11:00")], [("c", "11:00")]],
        # Both are late: the one has a match in its batch, the other has none.
        [[("d", "10:02"), ("e", "10:03"), ("f", "10:58")], [("d", "10:02")]],
        [[("g", "13:00")], [("g", "13:00")]],
        [[("h", "18:00")], [("h", "18:00")]],
    ),
    report="https://github.com/apache/kafka/pull/10462",
    stock="does not emit it, not even with nulls",
)
def late_at_an_outer_join(left: DataFrame, right: DataFrame) -> DataFrame:
    """Full outer join; a row is late when it comes."""
    left_rows = left.withWatermark("at", "5 minutes")
    within = "at2 BETWEEN at AND at + INTERVAL 10 MINUTES"
    return joined(left_rows, right.withWatermark("at", "5 minutes"), "fullOuter", within)


@case(
    "report",
    RANGE,
    report="https://adhdecode-articles-4.pages.dev/articles/spark-streaming/spark-structured-streaming-join-streams",
    stock="every earlier row of the other side, which it keeps forever",
    finds=["UNBOUNDED_JOIN_SIDE"],
    why="NEVER_EVICTS",
)
def joined_with_all_before(left: DataFrame, right: DataFrame) -> DataFrame:
    """Inner join with all rows of the other side that are not later, without a lower bound."""
    left_rows = left.withWatermark("at", "5 minutes")
    return joined(left_rows, right.withWatermark("at", "5 minutes"), "inner", "at >= at2")


@case(
    "report",
    inputs(
        EACH,
        [[("a", "10:00"), ("b", "10:59:50")], [("a", "10:00:20"), ("b", "10:59:40")]],
        [[("c", "11:06")], [("c", "11:06:30")]],
        [[("d", "11:30"), ("e", "11:59")], [("d", "11:30"), ("e", "11:59:20")]],
        [[("f", "12:05:20")], [("f", "12:05:20")]],
        [[("g", "12:05:41")], [("g", "12:05:41")]],
        [[("h", "15:00")], [("h", "15:00")]],
    ),
    report=f"{SPARK}39931",
    stock="once the join can emit no more rows for them",
)
def windows_behind_a_range(left: DataFrame, right: DataFrame) -> DataFrame:
    """Inner join on a range to both sides, then counts in windows: when the windows come out."""
    left_rows = left.withWatermark("at", "5 minutes")
    within = "at BETWEEN at2 - INTERVAL 30 SECONDS AND at2 + INTERVAL 40 SECONDS"
    pairs = joined(left_rows, right.withWatermark("at", "5 minutes"), "inner", within)
    return per_hour(pairs.drop("at2"))
