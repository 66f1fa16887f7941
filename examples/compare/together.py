"""Ways to count all airports together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial, reduce
from pathlib import Path
from typing import Literal

from pyspark.sql import DataFrame, SparkSession

import tidemark
from flights_weather.data import AIRPORTS

from .clocks import OneClock, Policy, Splits
from .files import newest_step
from .inputs import FLIGHTS, STEP
from .rule import Outcome, counted
from .way import POLICY, SHORT, Rows, Stage, Way, by_hour, read, text_of

PolicyName = Literal["min", "max"]
IDLE_STEPS = timedelta(hours=3) // STEP
CHOICES: dict[PolicyName, Callable[[Iterable[datetime]], datetime]] = {"min": min, "max": max}


def one_clock(delay: timedelta) -> Way:
    """Stock Spark, all airports in one input."""

    def rule(rows: Rows) -> Outcome:
        return counted(rows.flights, OneClock(delay))

    return Way(f"stock, {text_of(delay)}", "stock", rule, (Stage(partial(_one, delay=delay)),))


def one_clock_by_tidemark() -> Way:
    """The same by Tidemark, with the short delay."""
    stages = (Stage(partial(_one, delay=SHORT)),)
    return Way(f"Tidemark, {text_of(SHORT)}", "tidemark", one_clock(SHORT).rule, stages)


def an_input_each(policy: PolicyName) -> Way:
    """Stock Spark, an input for each airport."""

    def rule(rows: Rows) -> Outcome:
        delays = dict.fromkeys(AIRPORTS, SHORT)
        return counted(rows.flights, Policy(CHOICES[policy], delays))

    name = f"stock, an input for each airport, policy {policy}"
    return Way(name, "stock", rule, (Stage(_each),), {POLICY: policy})


def split() -> Way:
    """Tidemark, one input with a clock for each airport."""

    def rule(rows: Rows) -> Outcome:
        return counted(rows.flights, Splits(SHORT))

    return Way("Tidemark, split_by", "tidemark", rule, (Stage(_split),))


def split_or_idle() -> Way:
    """The same, and an airport that is silent for three hours is left out.

    `idle_after` is a time of the wall clock, of which a replay by steps has none. So the query has it, and a very short
    one, from the step on in which an airport has been silent for three hours.
    """

    def rule(rows: Rows) -> Outcome:
        return counted(rows.flights, Splits(SHORT, IDLE_STEPS))

    # A step is a run of its own. No rows come between two runs, so the time between them has to count.
    settings = {"spark.tidemark.downtimeIsSilence": "true"}
    name = "Tidemark, split_by, idle_after 3 hours"
    return Way(name, "tidemark", rule, (Stage(_split_or_idle),), settings)


def _one(spark: SparkSession, folder: Path, delay: timedelta) -> DataFrame:
    return by_hour(read(spark, folder / FLIGHTS).withWatermark("at", text_of(delay)))


def _each(spark: SparkSession, folder: Path) -> DataFrame:
    inputs = (read(spark, folder / FLIGHTS, airport) for airport in AIRPORTS)
    marked = (rows.withWatermark("at", text_of(SHORT)) for rows in inputs)
    return by_hour(reduce(DataFrame.union, marked))


def _split(spark: SparkSession, folder: Path, idle_after: str | None = None) -> DataFrame:
    rows = read(spark, folder / FLIGHTS)
    return by_hour(
        tidemark.with_watermark(
            rows, "at", text_of(SHORT), split_by="origin", idle_after=idle_after
        )
    )


def _split_or_idle(spark: SparkSession, folder: Path) -> DataFrame:
    newest = [newest_step(folder / FLIGHTS / airport) for airport in AIRPORTS]
    is_silent = max(newest) - min(newest) >= IDLE_STEPS
    return _split(spark, folder, "1 millisecond" if is_silent else None)
