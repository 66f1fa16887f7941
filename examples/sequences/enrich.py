"""Asks a slow service about each departure: by a UDF that waits, and by `map_async`. The function is the same."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidemark

from . import query, service
from .flights import Departure

CONCURRENCY = 64
Enrich = Callable[[DataFrame, Callable[[str], str]], DataFrame]


class Enriched(NamedTuple):
    """What came of one way."""

    seconds: float
    answers: dict[str, str]


def _by_udf(rows: DataFrame, ask: Callable[[str], str]) -> DataFrame:
    return rows.withColumn("answer", F.udf(ask, "STRING")("flight"))


def _by_map_async(rows: DataFrame, ask: Callable[[str], str]) -> DataFrame:
    return tidemark.map_async(
        rows, "answer", ask, inputs="flight", returns="STRING", concurrency=CONCURRENCY
    )


WAYS: dict[str, Enrich] = {"UDF": _by_udf, "map_async": _by_map_async}


def enriched(
    spark: SparkSession, folder: Path, departures: Sequence[Departure]
) -> dict[str, Enriched]:
    """All departures with the service's answer, by each way, and how long that took."""
    files = folder / "flights"
    files.mkdir(parents=True)
    text = "".join(json.dumps(one.to_json()) + "\n" for one in departures)
    (files / "all.json").write_text(text, encoding="utf-8")
    with service.running() as address:
        return {name: _run(spark, folder, name, enrich, address) for name, enrich in WAYS.items()}


def _run(spark: SparkSession, folder: Path, name: str, enrich: Enrich, address: str) -> Enriched:
    def ask(flight: str) -> str:
        from urllib.request import urlopen

        with urlopen(f"{address}/flights/{flight}") as answer:
            text: str = answer.read().decode()
        return text

    answers: dict[str, str] = {}

    def keep(batch: DataFrame, _: int) -> None:
        answers.update(batch.select("flight", "answer").collect())

    rows = spark.readStream.schema(query.DEPARTURES).json(str(folder / "flights"))
    out = enrich(rows, ask).writeStream.foreachBatch(keep).trigger(availableNow=True)
    began = time.monotonic()
    out.option("checkpointLocation", str(folder / f"checkpoint-{name}")).start().awaitTermination()
    return Enriched(time.monotonic() - began, answers)
