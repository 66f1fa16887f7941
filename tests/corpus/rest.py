"""Sinks and triggers: `foreachBatch`, `AvailableNow`, limits of the source."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from corpus.cases import case
from corpus.inputs import EVENTS, IN_STEP, READINGS, WORDS


def counted_again(batch: DataFrame) -> DataFrame:
    return batch.groupBy("device").agg(F.count("*"), F.max("signal"))


@case("guide", READINGS, in_batch=counted_again)
def aggregated_in_the_batch(readings: DataFrame) -> DataFrame:
    """Deduplication, and an aggregation of each batch in `foreachBatch`."""
    return readings.withWatermark("time", "10 minutes").dropDuplicates(["device", "time"])


def priced(batch: DataFrame) -> DataFrame:
    prices = batch.sparkSession.createDataFrame([("oak", 3), ("elm", 5)], "word STRING, price INT")
    return batch.join(prices, "word", "left").selectExpr("window", "word", "count * price")


@case("variant", WORDS, mode="update", in_batch=priced)
def joined_in_the_batch(words: DataFrame) -> DataFrame:
    """Counts in windows, update mode, joined with a table in `foreachBatch`."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.window("timestamp", "10 minutes"), "word").count()


@case("variant", WORDS, available_now=True)
def windows_by_available_now(words: DataFrame) -> DataFrame:
    """Counts in windows, each step a run of its own with `AvailableNow`."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.window("timestamp", "10 minutes"), "word").count()


@case("variant", IN_STEP, available_now=True)
def join_by_available_now(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Inner join on a time range, each step a run of its own with `AvailableNow`."""
    shown = impressions.withWatermark("impressionTime", "2 hours")
    clicked = clicks.withWatermark("clickTime", "3 hours")
    within = F.expr("""
        clickAdId = impressionAdId AND clickTime >= impressionTime
        AND clickTime <= impressionTime + INTERVAL 1 HOUR
    """)
    return shown.join(clicked, within)


@case("api", EVENTS, options={"maxFilesPerTrigger": 1})
def one_file_a_batch(events: DataFrame) -> DataFrame:
    """Deduplication within the watermark, one file a batch."""
    kept = events.withWatermark("eventTime", "10 seconds")
    return kept.dropDuplicatesWithinWatermark(["guid"])


@case("api", READINGS)
def observed(readings: DataFrame) -> DataFrame:
    """`observe` behind a watermark, then counts in windows."""
    kept = readings.withWatermark("time", "10 minutes")
    seen = kept.observe("corpus", F.count("*").alias("rows"), F.max("signal").alias("most"))
    return seen.groupBy(F.window("time", "30 minutes")).count()


def latest_of_the_batch(batch: DataFrame) -> DataFrame:
    newest = Window.partitionBy("device").orderBy(F.desc("time"))
    ranked = batch.withColumn("rank", F.row_number().over(newest)).where("rank = 1")
    known = batch.sparkSession.createDataFrame(
        [("d1", 1.0), ("d4", 2.0)], "device STRING, old DOUBLE"
    )
    return known.join(ranked, "device", "full_outer").selectExpr("device", "old", "signal", "time")


@case("variant", READINGS, in_batch=latest_of_the_batch)
def merged_in_the_batch(readings: DataFrame) -> DataFrame:
    """Deduplication; in `foreachBatch` the latest row of each key, full outer joined with a table."""
    return readings.withWatermark("time", "10 minutes").dropDuplicates(["device", "time"])
