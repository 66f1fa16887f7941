"""Functions in Python, structs and arrays between a watermark and what keeps state."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pandas as pd
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from corpus.cases import case
from corpus.inputs import READINGS, TWICE, WORDS

# Python workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def long_words(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for piece in pieces:
        yield piece[piece["word"] != "fir"]


def upper_words(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for piece in pieces:
        words = [word.upper() for word in piece.column("word").to_pylist()]
        yield pa.RecordBatch.from_arrays(
            [piece.column("timestamp"), pa.array(words)], names=["timestamp", "word"]
        )


@case("examples", WORDS)
def pandas_map_then_watermark(words: DataFrame) -> DataFrame:
    """`mapInPandas`, then a watermark and counts in windows."""
    kept = words.mapInPandas(long_words, words.schema).withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.window("timestamp", "10 minutes"), "word").count()


@case("variant", WORDS)
def watermark_then_pandas_map(words: DataFrame) -> DataFrame:
    """A watermark, then `mapInPandas` and counts in windows."""
    kept = words.withWatermark("timestamp", "10 minutes")
    mapped = kept.mapInPandas(long_words, kept.schema)
    return mapped.groupBy(F.window("timestamp", "10 minutes"), "word").count()


@case("variant", WORDS)
def watermark_then_arrow_map(words: DataFrame) -> DataFrame:
    """A watermark, then `mapInArrow` and deduplication."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.mapInArrow(upper_words, kept.schema).dropDuplicates(["word", "timestamp"])


@case("variant", TWICE)
def pandas_map_then_outer_join(first: DataFrame, second: DataFrame) -> DataFrame:
    """`mapInPandas` behind a watermark, then a left outer join on a time range."""
    first_words = first.withWatermark("time", "5 minutes")
    first_words = first_words.mapInPandas(long_words, first_words.schema)
    second_words = second.withWatermark("time", "5 minutes").toDF("time2", "word2")
    within = F.expr("word = word2 AND time2 BETWEEN time AND time + INTERVAL 5 MINUTES")
    return first_words.join(second_words, within, "leftOuter")


@case("examples", READINGS)
def pandas_function(readings: DataFrame) -> DataFrame:
    """A column by a pandas function, then its average in windows."""

    @F.pandas_udf("double")
    def doubled(signal: pd.Series) -> pd.Series:
        return signal * 2

    kept = readings.withWatermark("time", "10 minutes").withColumn("signal", doubled("signal"))
    return kept.groupBy(F.window("time", "30 minutes")).agg(F.avg("signal"))


@case("variant", READINGS)
def python_function(readings: DataFrame) -> DataFrame:
    """A column by a Python function of a row, then counts in windows."""
    band = F.udf(lambda signal: "high" if signal > 10 else "low", "string")
    kept = readings.withWatermark("time", "10 minutes")
    return kept.groupBy(F.window("time", "30 minutes"), band("signal").alias("band")).count()


@case("internals", WORDS)
def text_taken_apart(words: DataFrame) -> DataFrame:
    """Rows as text with commas, split into tokens of which one is the event time; no state."""
    sent = words.select(F.concat_ws(",", "word", F.col("timestamp").cast("long")).alias("value"))
    tokens = sent.select(F.split("value", ",").alias("tokens"))
    event_time = F.col("tokens")[1].cast("long").cast("timestamp").alias("event_time")
    taken = tokens.where(F.size("tokens") == 2).select(F.col("tokens")[0].alias("name"), event_time)
    return taken.withWatermark("event_time", "5 seconds")


@case("variant", WORDS)
def watermark_of_a_nested_time(words: DataFrame) -> DataFrame:
    """A watermark, the row put into a struct and taken out again, then counts in windows."""
    kept = words.withWatermark("timestamp", "10 minutes")
    nested = kept.select(F.struct("timestamp", "word").alias("event"))
    return nested.select("event.*").groupBy(F.window("timestamp", "10 minutes")).count()


@case("variant", WORDS)
def exploded_behind_the_watermark(words: DataFrame) -> DataFrame:
    """A watermark, then letters of each word by `explode`, counted in windows."""
    kept = words.withWatermark("timestamp", "10 minutes")
    letters = kept.select("timestamp", F.explode(F.split("word", "")).alias("letter"))
    return letters.groupBy(F.window("timestamp", "30 minutes"), "letter").count()


@case("variant", WORDS)
def inline_behind_the_watermark(words: DataFrame) -> DataFrame:
    """A watermark, then two rows of each by `inline` of an array of structs, deduplicated."""
    kept = words.withWatermark("timestamp", "10 minutes")
    doubled = F.expr(
        "inline(array(struct(timestamp, word), struct(timestamp, upper(word) AS word)))"
    )
    return kept.select(doubled).dropDuplicates(["timestamp", "word"])


def on_the_half_hour(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for piece in pieces:
        yield piece.assign(timestamp=piece["timestamp"].dt.floor("30min"))


@case("variant", WORDS)
def pandas_map_that_rounds_the_time(words: DataFrame) -> DataFrame:
    """`mapInPandas` that rounds the event time down, so that more rows are late; deduplication."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.mapInPandas(on_the_half_hour, kept.schema).dropDuplicates(["word", "timestamp"])


@case("variant", READINGS)
def strongest_reading_of_a_window(readings: DataFrame) -> DataFrame:
    """The reading with the highest signal in each window by `max_by` of a struct, opened again."""
    kept = readings.withWatermark("time", "10 minutes")
    strongest = F.max_by(F.struct("device", "time", "signal"), "signal").alias("strongest")
    return kept.groupBy(F.window("time", "30 minutes")).agg(strongest).select("strongest.*")
