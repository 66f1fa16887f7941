"""Unions, and several watermarks in one query."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from corpus.cases import case
from corpus.inputs import IN_STEP, TWICE, WORDS


@case("neil", TWICE)
def union_then_watermark(first: DataFrame, second: DataFrame) -> DataFrame:
    """A union, then one watermark and counts in windows."""
    both = first.union(second).withWatermark("time", "10 minutes")
    return both.groupBy(F.window("time", "10 minutes"), "word").count()


@case("guide", TWICE)
def union_of_watermarks(first: DataFrame, second: DataFrame) -> DataFrame:
    """A union of two inputs with different delays, then counts in windows."""
    both = first.withWatermark("time", "1 minute").union(second.withWatermark("time", "20 minutes"))
    return both.groupBy(F.window("time", "10 minutes")).count()


@case("variant", TWICE)
def union_by_name(first: DataFrame, second: DataFrame) -> DataFrame:
    """A union by name of two inputs with the same delay, then deduplication."""
    turned = second.withWatermark("time", "5 minutes").select("word", "time")
    both = first.withWatermark("time", "5 minutes").unionByName(turned)
    return both.dropDuplicates(["word", "time"])


@case("neil", TWICE)
def union_then_distinct(first: DataFrame, second: DataFrame) -> DataFrame:
    """A union, of which equal rows come out once."""
    return first.union(second).withWatermark("time", "10 minutes").distinct()


@case("guide", TWICE, conf={"spark.sql.streaming.multipleWatermarkPolicy": "max"})
def the_fastest_decides(first: DataFrame, second: DataFrame) -> DataFrame:
    """The same with the policy `max`."""
    both = first.withWatermark("time", "1 minute").union(second.withWatermark("time", "20 minutes"))
    return both.groupBy(F.window("time", "10 minutes")).count()


@case("guide", IN_STEP)
def an_hour_and_two(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """A join of two inputs with different delays, by a condition on both times."""
    shown = impressions.withWatermark("impressionTime", "1 hour")
    clicked = clicks.withWatermark("clickTime", "2 hours")
    return shown.join(
        clicked, F.expr("impressionAdId = clickAdId AND clickTime >= impressionTime"), "inner"
    )


@case("variant", TWICE)
def windows_of_each_united(first: DataFrame, second: DataFrame) -> DataFrame:
    """Counts in windows of each input, and then their union."""
    counts = [
        each.withWatermark("time", delay).groupBy(F.window("time", "10 minutes")).count()
        for each, delay in ((first, "5 minutes"), (second, "10 minutes"))
    ]
    return counts[0].union(counts[1])


@case("variant", WORDS)
def a_stream_with_itself(words: DataFrame) -> DataFrame:
    """A stream joined with itself on a range of five minutes."""
    kept = words.withWatermark("timestamp", "10 minutes")
    earlier, later = kept.alias("one"), kept.alias("two")
    return earlier.join(
        later,
        F.expr("""
            one.word = two.word AND two.timestamp > one.timestamp
            AND two.timestamp <= one.timestamp + INTERVAL 10 MINUTES
        """),
    ).select("one.word", "one.timestamp", F.col("two.timestamp").alias("again"))


@case("variant", WORDS)
def parts_of_a_stream_united(words: DataFrame) -> DataFrame:
    """Two filters of one stream, united, deduplicated within the watermark and counted."""
    kept = words.withWatermark("timestamp", "10 minutes")
    oaks = kept.where("word = 'oak'").withColumn("kind", F.lit("tree"))
    rest = kept.where("word <> 'oak'").withColumn("kind", F.lit("other"))
    once = oaks.union(rest).dropDuplicatesWithinWatermark(["word", "kind"])
    return once.groupBy(F.window("timestamp", "10 minutes"), "kind").count()


@case("variant", TWICE)
def united_once_and_in_sessions(first: DataFrame, second: DataFrame) -> DataFrame:
    """A union of two inputs with one delay, deduplicated within the watermark, in sessions."""
    both = first.withWatermark("time", "5 minutes").union(second.withWatermark("time", "5 minutes"))
    once = both.dropDuplicatesWithinWatermark(["word", "time"])
    return once.groupBy(F.session_window("time", "10 minutes"), "word").count()
