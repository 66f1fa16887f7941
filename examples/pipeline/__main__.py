"""Counts New York's flights by a first query, and its counts by a second one; prints what the second one loses.

python -m pipeline [--between files|Kafka]

First with files between the two queries, and then with a Kafka topic, or only with one of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession

from common.folder import fast_folder
from common.session import session
from common.table import render
from flights_weather.clock import HOUR
from kafka_broker.broker import broker
from kafka_broker.jars import connector_jars
from kafka_broker.topic import make_topic

from . import queries, rule
from .between import Between, Files, Kafka
from .flights import HOURS, Step, reached, steps
from .rule import Key, Outcome

SETTINGS = {
    # For a few rows a batch it costs more to generate code than to interpret.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
DELAYS = {f"stock, delay {minutes} min": timedelta(minutes=minutes) for minutes in (0, 10, 60)}
NOTED = "noted time"

HEADINGS = ("second query", "flights lost", "hours with a loss", "median wait", "longest wait")
CAPTION = """\
flights lost  that departed in the hours that are measured, and that the second query did not count
wait          from the end of an hour to the event time that the airports had reached when the hour
              was emitted. An hour of LaGuardia cannot be complete while its link is down"""


class Pipeline:
    """The first query, and the second one with each of its watermarks; each run reads all new rows."""

    def __init__(self, spark: SparkSession, folder: Path, between: Between) -> None:
        self.spark, self.folder, self.between = spark, folder, between
        self.outcomes = {name: Outcome() for name in [*DELAYS, NOTED]}
        self.stock = spark.newSession()
        self.stock.conf.set("spark.tidemark.enabled", "false")

    def step(self, number: int, arriving: Step) -> None:
        for airport, reports in arriving.items():
            path = self.folder / "reports" / airport / f"{number:02}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            if reports:
                lines = (json.dumps(report.to_json()) + "\n" for report in reports)
                path.write_text("".join(lines), encoding="utf-8")
        self._first()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda name: self._second(name, number), self.outcomes))

    def _first(self) -> None:
        counts = queries.quarters(self.spark, self.folder / "reports")
        out = self.between.write(counts).outputMode("append")
        out = out.option("checkpointLocation", str(self.folder / "first"))
        out.trigger(availableNow=True).start().awaitTermination()

    def _second(self, name: str, step: int) -> None:
        delay = DELAYS.get(name)
        spark = self.spark if delay is None else self.stock
        read = self.between.read(spark)
        mark = queries.noted(self.between.log) if delay is None else queries.guessed(delay)
        outcome = self.outcomes[name]

        def keep(batch: DataFrame, _: int) -> None:
            rows = batch.selectExpr("CAST(window.start AS STRING)", "origin", "flights")
            for text, origin, flights in rows.collect():
                hour = datetime.fromisoformat(text)
                outcome.counts[hour, origin] += flights
                outcome.out[hour] = reached(step)

        out = queries.hours(read, mark).writeStream.foreachBatch(keep).outputMode("append")
        out = out.option("checkpointLocation", str(self.folder / f"second-{name}"))
        out.trigger(availableNow=True).start().awaitTermination()


def replay(
    spark: SparkSession, folder: Path, arriving: Sequence[Step], between: Between
) -> dict[str, Outcome]:
    """What came out of the second query, with each of its watermarks."""
    pipeline = Pipeline(spark, folder, between)
    for number, step in enumerate(arriving):
        pipeline.step(number, step)
    return pipeline.outcomes


def main() -> None:
    """Replays the flights and prints what came of them.

    Raises:
        SystemExit: a query differs from its rule, or noted time lost a flight.
    """
    parser = argparse.ArgumentParser(prog="python -m pipeline", description=__doc__)
    parser.add_argument("--between", choices=(Files.name, Kafka.name))
    only = parser.parse_args().between
    print(
        "Flights of New York's airports on 2013-11-01, by steps of ten minutes. LaGuardia's link is down for two\n"
        "hours. A first query counts by quarter of an hour, and a second one counts that by hour and airport.\n",
        flush=True,
    )
    arriving = steps()
    departed = {key: n for key, n in rule.truth(arriving).items() if key[0] in HOURS}
    differences: list[str] = []
    with ExitStack() as stack:
        folder = stack.enter_context(fast_folder("pipeline-"))
        places: list[Between] = [] if only == Kafka.name else [Files(folder)]
        settings = dict(SETTINGS)
        if only != Files.name:
            servers = stack.enter_context(broker(folder / "broker"))
            for topic in (Kafka.TOPIC, Kafka.MARKS):
                make_topic(servers, topic, Kafka.PARTITIONS)
            places.append(Kafka(servers))
            settings["spark.jars"] = ",".join(connector_jars())
        spark = session("tidemark", folder / "spark", "pipeline", settings)
        for between in places:
            found = replay(spark, folder / between.name, arriving, between)
            print(f"With {between.name} between the queries:\n")
            rows = [[name, *_figures(found[name], departed)] for name in found]
            print(render(HEADINGS, rows), flush=True)
            print()
            differences += _differences(between.name, found, arriving, departed)
        spark.stop()
    print(CAPTION)
    if differences:
        raise SystemExit("\n".join(["\nThis is not what the rules say:", *differences]))


def _figures(outcome: Outcome, departed: Mapping[Key, int]) -> Iterator[str]:
    lost = {hour: n for (hour, _), n in _lost(outcome, departed).items() if n}
    waits = [(outcome.out[hour] - hour - HOUR) // timedelta(minutes=1) for hour in HOURS]
    yield f"{sum(_lost(outcome, departed).values())} of {sum(departed.values())}"
    yield f"{len(lost)} of {len(HOURS)}"
    yield f"{median(waits):g} min"
    yield f"{max(waits)} min"


def _lost(outcome: Outcome, departed: Mapping[Key, int]) -> dict[Key, int]:
    return {key: n - outcome.counts[key] for key, n in departed.items()}


def _differences(
    between: str,
    found: Mapping[str, Outcome],
    arriving: Sequence[Step],
    departed: Mapping[Key, int],
) -> list[str]:
    read = rule.first(arriving)
    differences = [
        f"{between}, {name}: {outcome}. By its rule: {expected}."
        for name, outcome in found.items()
        for expected in [rule.second(read, DELAYS.get(name))]
        if outcome != expected
    ]
    if any(_lost(found[NOTED], departed).values()):
        differences.append(f"{between}: the query that uses noted time lost flights.")
    return differences


if __name__ == "__main__":
    main()
