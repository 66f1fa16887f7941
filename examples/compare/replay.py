"""Runs a way's queries after each step, and keeps what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from common.progress import figures

from .files import arrive
from .inputs import FLIGHTS, STEPS, WEATHER
from .rule import Outcome
from .way import Rows, Stage, Way


class Replay:
    """One way, its own folder of files, and what came out."""

    def __init__(self, spark: SparkSession, way: Way, rows: Rows, folder: Path) -> None:
        self._way, self._rows, self._folder = way, rows, folder
        self._spark = spark.newSession()
        for key, value in _settings(way).items():
            self._spark.conf.set(key, value)
        self._peaks = [0] * len(way.stages)
        self._outcome = Outcome()

    def play(self, stepped: Callable[[], None]) -> Outcome:
        """Runs all steps; `stepped` is called after each, for a progress bar."""
        for number in range(STEPS + 1):
            arrive(self._folder / FLIGHTS, number, self._rows.flights[number])
            if self._rows.weather is not None:
                arrive(self._folder / WEATHER, number, self._rows.weather[number])
            for place, stage in enumerate(self._way.stages):
                self._run(number, place, stage)
            stepped()
        # Several queries need not reach their peaks at the same time.
        self._outcome.peak_state = sum(self._peaks)
        return self._outcome

    def _run(self, step: int, place: int, stage: Stage) -> None:
        def keep(batch: DataFrame, _: int) -> None:
            for hour, part, rows in batch.collect():
                self._outcome.emit((datetime.fromisoformat(hour), part), rows, step)

        writing = stage.build(self._spark, self._folder).writeStream.outputMode("append")
        if stage.to is None:
            writing = writing.foreachBatch(keep)
        else:
            writing = writing.format("parquet").option("path", str(self._folder / stage.to))
        checkpoint = str(self._folder / f"checkpoint-{place}")
        # On any machine, one batch reads what has arrived, and a second one emits what it has ended.
        query = writing.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        self._peaks[place] = max(self._peaks[place], figures(query).peak_state)


def _settings(way: Way) -> Mapping[str, str]:
    return {"spark.tidemark.enabled": str(way.engine == "tidemark").lower(), **way.settings}
