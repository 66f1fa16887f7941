"""Aggregations by windows of event time."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from corpus.cases import case
from corpus.inputs import LINES, READINGS, SECONDS, WORDS

SLIDING = ("10 minutes", "5 minutes")


@case("guide", WORDS, mode="update", quick=True)
def sliding_windows_updated(words: DataFrame) -> DataFrame:
    """Words counted in sliding windows, update mode."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.window(words.timestamp, *SLIDING), words.word).count()


@case("guide", WORDS)
def sliding_windows_appended(words: DataFrame) -> DataFrame:
    """Words counted in sliding windows, append mode."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.window("timestamp", *SLIDING), "word").count()


@case("guide", WORDS, mode="complete")
def sliding_windows_completed(words: DataFrame) -> DataFrame:
    """Words counted in sliding windows with a watermark, complete mode."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.window("timestamp", *SLIDING), "word").count()


@case("guide", WORDS, mode="update")
def sliding_windows_without_watermark(words: DataFrame) -> DataFrame:
    """Words counted in sliding windows without a watermark, update mode."""
    return words.groupBy(F.window("timestamp", *SLIDING), "word").count()


@case("guide", WORDS)
def tumbling_windows(words: DataFrame) -> DataFrame:
    """Words counted in tumbling windows."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.window("timestamp", "10 minutes")).count()


@case("api", WORDS)
def windows_that_begin_later(words: DataFrame) -> DataFrame:
    """Tumbling windows with a start offset."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.window("timestamp", "15 minutes", startTime="4 minutes")).count()


@case("guide", WORDS)
def windows_of_window_time(words: DataFrame) -> DataFrame:
    """Windows of windows by `window_time`, append mode."""
    kept = words.withWatermark("timestamp", "10 minutes")
    small = kept.groupBy(F.window("timestamp", *SLIDING), "word").count()
    return small.groupBy(F.window(F.window_time(small.window), "1 hour"), "word").count()


@case("guide", WORDS)
def windows_of_windows(words: DataFrame) -> DataFrame:
    """Windows of windows by the window column itself, append mode."""
    kept = words.withWatermark("timestamp", "10 minutes")
    small = kept.groupBy(F.window("timestamp", *SLIDING), "word").count()
    return small.groupBy(F.window(small.window, "1 hour"), "word").count()


@case("guide", WORDS)
def by_event_time_itself(words: DataFrame) -> DataFrame:
    """Aggregation by the event-time column, without a window."""
    return words.withWatermark("timestamp", "10 minutes").groupBy("timestamp").count()


@case("guide", READINGS, refused="STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION")
def by_another_time(readings: DataFrame) -> DataFrame:
    """Aggregation by another column than the watermark's, append mode."""
    other = readings.withColumn("time2", F.expr("time + INTERVAL 1 MINUTE"))
    return other.withWatermark("time", "1 minute").groupBy("time2").count()


@case("guide", READINGS, refused="STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION")
def watermark_after_aggregation(readings: DataFrame) -> DataFrame:
    """A watermark that is set behind the aggregation, append mode."""
    return readings.groupBy("time").count().withWatermark("time", "1 minute")


@case("examples", READINGS, mode="complete")
def average_signal(readings: DataFrame) -> DataFrame:
    """Average signal of devices in sliding windows, complete mode."""
    return readings.groupBy(F.window("time", *SLIDING)).avg("signal")


@case("examples", LINES, mode="complete", ordered=True)
def words_of_lines_in_windows(lines: DataFrame) -> DataFrame:
    """Lines split into words, counted in windows; orderBy window, complete mode."""
    words = lines.select(
        F.explode(F.split(lines.value, " ")).alias("word"), lines.timestamp.alias("timestamp")
    )
    counted = words.groupBy(F.window("timestamp", "10 seconds", "5 seconds"), "word").count()
    return counted.orderBy("window", "word")


@case("internals", SECONDS)
def lists_in_windows(values: DataFrame) -> DataFrame:
    """Values and batches of a window collected as lists, append mode."""
    kept = values.withWatermark("timestamp", "10 seconds")
    by_window = kept.groupBy(F.window("timestamp", "5 seconds").alias("sliding_window"))
    return by_window.agg(
        F.collect_list("batch").alias("batches"), F.collect_list("value").alias("values")
    )


@case("internals", SECONDS, mode="update")
def lists_in_windows_updated(values: DataFrame) -> DataFrame:
    """Values of a window collected as lists, update mode."""
    kept = values.withWatermark("timestamp", "10 seconds")
    return kept.groupBy(F.window("timestamp", "5 seconds")).agg(F.collect_list("value"))


@case("internals", SECONDS, mode="complete")
def lists_in_windows_completed(values: DataFrame) -> DataFrame:
    """Values of a group collected as lists, complete mode."""
    groups = values.withColumn("group", F.col("value") % 2)
    return groups.groupBy("group").agg(F.collect_list("value").alias("value_list"))


@case("internals", SECONDS)
def sums_by_time_and_group(values: DataFrame) -> DataFrame:
    """Sums by event time and a group, append mode."""
    kept = values.withColumn("group", F.col("value") % 2).withWatermark("timestamp", "10 seconds")
    return kept.groupBy("timestamp", "group").agg(F.sum("value").alias("value_sum"))


@case("neil", SECONDS)
def windows_by_value(values: DataFrame) -> DataFrame:
    """Tumbling windows by value, fifteen seconds of delay."""
    kept = values.withWatermark("timestamp", "15 seconds")
    return kept.groupBy(F.window(F.col("timestamp"), "10 seconds"), F.col("value")).count()


@case("neil", READINGS, mode="update")
def revenue_by_hour(readings: DataFrame) -> DataFrame:
    """A sum for each hour, update mode."""
    kept = readings.withWatermark("time", "15 minutes")
    return kept.groupBy(F.window("time", "1 hour")).agg(F.sum("signal").alias("revenue"))


@case("playground", SECONDS)
def sums_of_counts(values: DataFrame) -> DataFrame:
    """Counts in short windows, and their sums in longer ones; no delay."""
    kept = values.withWatermark("timestamp", "0 seconds")
    first = kept.groupBy(F.window("timestamp", "2 seconds").alias("first_window")).count()
    second = first.groupBy(F.window("first_window", "5 seconds").alias("second_window"))
    return second.agg(F.count("*"), F.sum("count").alias("sum_of_counts"))


@case("variant", READINGS)
def many_aggregates(readings: DataFrame) -> DataFrame:
    """Several aggregates of one window, then a filter on one of them."""
    kept = readings.withWatermark("time", "10 minutes")
    found = kept.groupBy(F.window("time", "10 minutes"), "type").agg(
        F.max("signal").alias("most"), F.min("time"), F.approx_count_distinct("device")
    )
    return found.where("most > 4")


@case("variant", READINGS, mode="update")
def cube_of_windows(readings: DataFrame) -> DataFrame:
    """A cube over window and type, update mode."""
    kept = readings.withWatermark("time", "10 minutes")
    return kept.cube(F.window("time", "1 hour"), F.col("type")).count()


@case("api", WORDS)
def start_and_end_of_windows(words: DataFrame) -> DataFrame:
    """A window's start and end taken out, in place of the window."""
    kept = words.withWatermark("timestamp", "5 minutes")
    counted = kept.groupBy(F.window("timestamp", "10 minutes"), "word").count()
    return counted.select(F.col("window.start"), F.col("window.end"), "word", "count")


@case("variant", WORDS)
def pivoted_windows(words: DataFrame) -> DataFrame:
    """A pivot of words in windows: one column of counts for each word."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.window("timestamp", "10 minutes")).pivot("word", ["oak", "elm"]).count()


@case("variant", WORDS, refused="STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION")
def time_replaced_by_its_hour(words: DataFrame) -> DataFrame:
    """The event-time column replaced by its hour, which removes its mark; append mode."""
    kept = words.withWatermark("timestamp", "10 minutes")
    hourly = kept.withColumn("timestamp", F.date_trunc("hour", "timestamp"))
    return hourly.groupBy("timestamp").count()


@case("variant", WORDS, mode="update")
def time_replaced_by_its_hour_updated(words: DataFrame) -> DataFrame:
    """The same in update mode: no row is late, and nothing is evicted."""
    kept = words.withWatermark("timestamp", "10 minutes")
    hourly = kept.withColumn("timestamp", F.date_trunc("hour", "timestamp"))
    return hourly.groupBy("timestamp").count()
