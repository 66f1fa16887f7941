"""The queries. The same code for both engines: plain PySpark, plain ``withWatermark``, but for a rule for silence.

With Tidemark's extension in the session each ``withWatermark`` is a watermark of its own, under
the name of its column; without it Spark has one watermark for the whole query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .clock import DELAY_TEXT, IDLE_AFTER

DEPARTURES = "origin STRING, carrier STRING, flight INT, departure TIMESTAMP"
WEATHER = "origin STRING, weather_time TIMESTAMP, wind_speed DOUBLE, visib DOUBLE"


@dataclass(frozen=True)
class Streams:
    """The two live streams, each read from a folder into which files arrive."""

    spark: SparkSession
    live: Path

    def departures(self) -> DataFrame:
        stream = self._read("departures", DEPARTURES)
        return stream.withWatermark("departure", DELAY_TEXT)

    def weather(self) -> DataFrame:
        stream = self._read("weather", WEATHER)
        return stream.withWatermark("weather_time", DELAY_TEXT)

    def weather_or_silence(self) -> DataFrame:
        """The weather, which a join waits for only until it has said nothing for a while."""
        import tidemark

        stream = self._read("weather", WEATHER)
        return tidemark.with_watermark(
            stream,
            "weather_time",
            DELAY_TEXT,
            idle=tidemark.Idle(after=IDLE_AFTER, at_join="follow"),
        )

    def _read(self, stream: str, schema: str) -> DataFrame:
        return self.spark.readStream.schema(schema).json(str(self.live / stream))


Part = Callable[[Streams], DataFrame]
"""A query; its result has the columns ``what``, ``hour`` and ``count`` at least."""


def departures_alone(streams: Streams) -> DataFrame:
    """Hourly departures per airport: the yardstick for all that follows."""
    return _hourly(streams.departures(), "departure", "departures")


def two_dashboards(streams: Streams) -> DataFrame:
    """Hourly departures and hourly weather records per airport, in one query."""
    weather = _hourly(streams.weather(), "weather_time", "weather")
    return departures_alone(streams).union(weather)


def flights_with_weather(streams: Streams) -> DataFrame:
    """Each departure with the weather of its hour, counted per airport and hour."""
    return _hourly(_joined(streams.departures(), streams.weather()), "departure", "departures")


def flights_with_weather_or_silence(streams: Streams) -> DataFrame:
    """The same, with a rule for silence: a word more on the weather, and nothing else."""
    joined = _joined(streams.departures(), streams.weather_or_silence())
    return _hourly(joined, "departure", "departures")


def by_both_times(streams: Streams) -> DataFrame:
    """The joined rows, grouped by the departure's hour and by the weather's time."""
    joined = _joined(streams.departures(), streams.weather())
    return _hourly(joined, "departure", "departures", "weather_time")


def second_watermark(streams: Streams) -> DataFrame:
    """The joined rows, with a watermark of their own from there on.

    "Once a departure has met its weather, others of its time are at most ten minutes
    away": the count uses what the join emits, and not what may still be in it.
    """
    joined = _joined(streams.departures(), streams.weather()).withWatermark("departure", DELAY_TEXT)
    return _hourly(joined, "departure", "departures")


def _joined(departures: DataFrame, weather: DataFrame) -> DataFrame:
    flight, record = departures.alias("f"), weather.alias("w")
    an_hour_before = F.expr("f.departure - INTERVAL 1 HOUR")
    matches = (
        (F.col("f.origin") == F.col("w.origin"))
        & (F.col("w.weather_time") > an_hour_before)
        & (F.col("w.weather_time") <= F.col("f.departure"))
    )
    joined = flight.join(record, matches, "left_outer")
    return joined.select("f.origin", "f.departure", "w.weather_time")


def _hourly(rows: DataFrame, time: str, what: str, *also: str) -> DataFrame:
    hour = F.window(time, "1 hour").alias("window")
    return (
        rows.groupBy(hour, "origin", *also)
        .count()
        .select(
            F.lit(what).alias("what"),
            F.col("window.start").alias("hour"),
            "origin",
            "count",
        )
    )
