"""Ways to count, by the hour, departures that have found their weather."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial, reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidemark
from flights_weather.data import AIRPORTS

from .clocks import Clocks, OneClock, Policy, Splits
from .inputs import FLIGHTS, WEATHER
from .joined import JoinClocks, OfEachSide, OneWatermark, Replayed, joined
from .rule import Outcome, counted
from .together import CHOICES, PolicyName
from .way import POLICY, SHORT, Rows, Stage, Way, by_hour, read, text_of

BETWEEN = "between"


def one_query(delay: timedelta, policy: PolicyName = "min") -> Way:
    """Stock Spark, with a delay for the weather."""

    def rule(rows: Rows) -> Outcome:
        return _counted(rows, _stock(delay, policy))

    name = f"stock, {text_of(delay)} for the weather"
    name += ", policy max" if policy == "max" else ""
    stages = (Stage(partial(_count_of_join, delay=delay)),)
    return Way(name, "stock", rule, stages, {POLICY: policy})


def an_input_each() -> Way:
    """Stock Spark, an input for each airport's weather."""

    def rule(rows: Rows) -> Outcome:
        delays = dict.fromkeys([FLIGHTS, *AIRPORTS], SHORT)
        return _counted(rows, OneWatermark(Policy(min, delays)))

    name = "stock, an input for each airport's weather"
    return Way(name, "stock", rule, (Stage(_count_of_inputs),))


def two_queries(delay: timedelta, second: timedelta) -> Way:
    """Stock Spark, with a table between the join and the count, and a delay for the rows of the table."""

    def rule(rows: Rows) -> Outcome:
        return _counted(rows, _stock(delay), OneClock(second))

    name = f"stock, two queries, {text_of(delay)} and {text_of(second)}"
    stages = (
        Stage(partial(_join, delay=delay), BETWEEN),
        Stage(partial(_count_of_table, delay=second)),
    )
    return Way(name, "stock", rule, stages)


def by_tidemark() -> Way:
    """Tidemark, a clock for each airport's weather."""

    def rule(rows: Rows) -> Outcome:
        return _counted(rows, OfEachSide(OneClock(SHORT), Splits(SHORT)))

    return Way("Tidemark, split_by for the weather", "tidemark", rule, (Stage(_by_tidemark),))


def _stock(delay: timedelta, policy: PolicyName = "min") -> OneWatermark:
    return OneWatermark(Policy(CHOICES[policy], {FLIGHTS: SHORT, WEATHER: delay}))


def _counted(rows: Rows, clocks: JoinClocks, of_table: Clocks | None = None) -> Outcome:
    assert rows.weather is not None
    found = joined(rows.flights, rows.weather, clocks)
    outcome = counted(found.steps, of_table or Replayed(found.watermarks))
    # When a join drops expired rows is its own affair: nothing depends on it.
    return replace(outcome, peak_state=None)


def _count_of_join(spark: SparkSession, folder: Path, delay: timedelta) -> DataFrame:
    return by_hour(_join(spark, folder, delay))


def _join(spark: SparkSession, folder: Path, delay: timedelta) -> DataFrame:
    weather = read(spark, folder / WEATHER).withWatermark("at", text_of(delay))
    return _with(weather, _flights(spark, folder))


def _count_of_inputs(spark: SparkSession, folder: Path) -> DataFrame:
    inputs = (read(spark, folder / WEATHER, airport) for airport in AIRPORTS)
    marked = (weather.withWatermark("at", text_of(SHORT)) for weather in inputs)
    return by_hour(_with(reduce(DataFrame.union, marked), _flights(spark, folder)))


def _by_tidemark(spark: SparkSession, folder: Path) -> DataFrame:
    weather = tidemark.with_watermark(
        read(spark, folder / WEATHER), "at", text_of(SHORT), key=WEATHER, split_by="origin"
    )
    return by_hour(_with(weather, _flights(spark, folder)))


def _flights(spark: SparkSession, folder: Path) -> DataFrame:
    return read(spark, folder / FLIGHTS).withWatermark("at", text_of(SHORT))


def _with(weather: DataFrame, flights: DataFrame) -> DataFrame:
    flight, record = flights.alias("f"), weather.alias("w")
    matches = (
        (F.col("f.origin") == F.col("w.origin"))
        & (F.col("w.at") <= F.col("f.at"))
        & (F.col("w.at") > F.expr("f.at - INTERVAL 1 HOUR"))
    )
    return flight.join(record, matches).select("f.origin", "f.at")


def _count_of_table(spark: SparkSession, folder: Path, delay: timedelta) -> DataFrame:
    table = spark.readStream.schema("origin STRING, at TIMESTAMP").parquet(str(folder / BETWEEN))
    return by_hour(table.withWatermark("at", text_of(delay)))
