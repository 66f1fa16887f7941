"""Aggregations that go on forever, and what stands above them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from corpus.cases import case
from corpus.inputs import LINES, READINGS, WORDS


def words_of(lines: DataFrame) -> DataFrame:
    return lines.select(F.explode(F.split(lines.value, " ")).alias("word"))


@case("guide", LINES, mode="complete")
def word_count_completed(lines: DataFrame) -> DataFrame:
    """Running count of words, complete mode."""
    return words_of(lines).groupBy("word").count()


@case("examples", LINES, mode="update")
def word_count_updated(lines: DataFrame) -> DataFrame:
    """Running count of words, update mode."""
    return words_of(lines).groupBy("word").count()


@case("guide", READINGS, mode="update")
def count_by_type(readings: DataFrame) -> DataFrame:
    """Running count of readings by type."""
    return readings.groupBy("type").count()


@case("variant", READINGS, mode="update")
def average_by_type(readings: DataFrame) -> DataFrame:
    """Running average of the signal by type, with a watermark that nothing uses."""
    return readings.withWatermark("time", "1 minute").groupBy("type").agg(F.avg("signal"))


@case("guide", WORDS, mode="complete", ordered=True)
def busiest_words_first(words: DataFrame) -> DataFrame:
    """The two most frequent words: orderBy and limit, complete mode."""
    return words.groupBy("word").count().orderBy(F.desc("count"), "word").limit(2)


@case("guide", READINGS)
def strong_signals(readings: DataFrame) -> DataFrame:
    """A filter and no state, behind a watermark."""
    return readings.withWatermark("time", "1 minute").select("device").where("signal > 10")


@case("guide", WORDS)
def first_rows(words: DataFrame) -> DataFrame:
    """The first four rows of a stream: limit, append mode."""
    return words.withWatermark("timestamp", "1 minute").limit(4)
