"""Ways to count each airport for itself."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from flights_weather.data import AIRPORTS

from .clocks import Each, OneClock, Policy
from .inputs import FLIGHTS
from .rule import Outcome, counted
from .together import CHOICES, PolicyName
from .way import POLICY, SHORT, Rows, Stage, Way, by_hour, read, text_of


def one_query(policy: PolicyName) -> Way:
    """Stock Spark, the counts of all airports in one query."""

    def rule(rows: Rows) -> Outcome:
        delays = dict.fromkeys(AIRPORTS, SHORT)
        return counted(rows.flights, Policy(CHOICES[policy], delays), apart=True)

    name = f"stock, one query, policy {policy}"
    return Way(name, "stock", rule, (Stage(_all),), {POLICY: policy})


def a_query_each() -> Way:
    """Stock Spark, a query for each airport."""

    def rule(rows: Rows) -> Outcome:
        alone = ([{airport: step[airport]} for step in rows.flights] for airport in AIRPORTS)
        peaks = (counted(steps, OneClock(SHORT)).peak_state or 0 for steps in alone)
        return replace(_rule_of_each(rows), peak_state=sum(peaks))

    stages = tuple(Stage(partial(_of, airport=airport)) for airport in AIRPORTS)
    return Way("stock, a query for each airport", "stock", rule, stages)


def one_query_by_tidemark() -> Way:
    """Tidemark, the counts of all airports in one query."""
    return Way("Tidemark, one query", "tidemark", _rule_of_each, (Stage(_all),))


def _rule_of_each(rows: Rows) -> Outcome:
    clocks = Each({airport: OneClock(SHORT) for airport in AIRPORTS})
    return counted(rows.flights, clocks, apart=True)


def _all(spark: SparkSession, folder: Path) -> DataFrame:
    return reduce(DataFrame.union, (_of(spark, folder, airport) for airport in AIRPORTS))


def _of(spark: SparkSession, folder: Path, airport: str) -> DataFrame:
    rows = read(spark, folder / FLIGHTS, airport).withWatermark("at", text_of(SHORT))
    return by_hour(rows, "origin")
