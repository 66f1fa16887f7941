"""The ways of asking for the gate of each departure, each as its users write it."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import tidemark

from . import clients

DEPARTURES = "departure TIMESTAMP, id LONG, aircraft STRING"
IN_FLIGHT = 16
"""Calls in flight in each of the two tasks: together fewer than the service allows."""
THREADS = "spark.sql.execution.pythonUDF.arrow.concurrency.level"

Enrich = Callable[[DataFrame, str], DataFrame]


def _udf(rows: DataFrame, address: str) -> DataFrame:
    def gate(flight: int, aircraft: str) -> str:
        return clients.ask(address, flight, aircraft)

    return rows.withColumn("gate", F.udf(gate, "STRING")("id", "aircraft"))


def _arrow_udf(rows: DataFrame, address: str) -> DataFrame:
    def gate(flight: int, aircraft: str) -> str:
        return clients.ask(address, flight, aircraft)

    return rows.withColumn("gate", F.udf(gate, "STRING", useArrow=True)("id", "aircraft"))


def _gather(rows: DataFrame, address: str, at_most: int) -> DataFrame:
    @F.pandas_udf("STRING")
    def gates(flights: pd.Series, aircraft: pd.Series) -> pd.Series:
        return pd.Series(asyncio.run(clients.gathered(address, flights, aircraft, at_most)))

    return rows.withColumn("gate", gates("id", "aircraft"))


def _map_in_pandas(rows: DataFrame, address: str) -> DataFrame:
    def gates(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for rows in frames:
            asked = clients.gathered(address, rows["id"], rows["aircraft"], IN_FLIGHT)
            yield rows.assign(gate=asyncio.run(asked))

    return rows.mapInPandas(gates, f"{DEPARTURES}, gate STRING")


def _map_async(rows: DataFrame, address: str, key: str | None = None) -> DataFrame:
    async def gate(client: clients.Client, flight: int, aircraft: str) -> str:
        return await client.gate(flight, aircraft)

    return tidemark.map_async(
        rows,
        "gate",
        gate,
        inputs=["id", "aircraft"],
        returns="STRING",
        concurrency=IN_FLIGHT,
        timeout=f"{clients.TIMEOUT_SECONDS:g} seconds",
        retries=clients.TRIES - 1,
        backoff=f"{1000 * clients.BACKOFF_SECONDS:g} milliseconds",
        key=key,
        service=functools.partial(clients.opened, address),
    )


def _map_async_by_key(rows: DataFrame, address: str) -> DataFrame:
    return _map_async(rows.repartition("aircraft"), address, key="aircraft")


class Way(NamedTuple):
    """A way of asking."""

    enrich: Enrich
    threads: int | None = None
    """That Spark runs for a Python UDF over Arrow."""
    share: int = 1
    """It is given every so many-th row: all would take minutes."""
    is_ours: bool = False
    """Whether it runs on Tidemark, and not on stock Spark."""


PLAIN, BY_KEY = OURS = (f"map_async, {IN_FLIGHT}", f"map_async, {IN_FLIGHT}, key=")
WAYS = {
    "UDF": Way(_udf, share=20),
    f"Arrow UDF, {IN_FLIGHT} threads": Way(_arrow_udf, threads=IN_FLIGHT),
    "pandas UDF, gather": Way(functools.partial(_gather, at_most=clients.CONNECTIONS)),
    f"pandas UDF, gather by {IN_FLIGHT}": Way(functools.partial(_gather, at_most=IN_FLIGHT)),
    f"mapInPandas, gather by {IN_FLIGHT}": Way(_map_in_pandas),
    PLAIN: Way(_map_async, is_ours=True),
    BY_KEY: Way(_map_async_by_key, is_ours=True),
}
