"""Replays the two streams into one running query, an hour per step."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from common.progress import figures

from . import parts
from .clock import SILENT_FROM, STEPS
from .files import arrive, lay_out
from .outcome import Outcome
from .runs import Run

Watch = Callable[[StreamingQuery], None]


class Replay:
    """One run: a query, its two folders of live files, and what came of it."""

    def __init__(self, spark: SparkSession, run: Run, prepared: Path, work: Path):
        self.spark, self.run, self.prepared = spark, run, prepared
        self.work = work / run.name
        self.outcome = Outcome(part=run.part, silent=run.silent)

    def play(self, stepped: Callable[[], None], watch: Watch) -> Outcome:
        """Runs all steps, or those that the engine gets through without an error.

        Args:
            stepped: called after every step, for a progress bar.
            watch: called after every step with the query, to look into it.
        """
        try:
            query = self._start()
        except PySparkException as refused:
            self.outcome.error = in_short(refused)
            return self.outcome
        try:
            for step in range(STEPS):
                self._step(query, step)
                watch(query)
                stepped()
        except PySparkException as failed:
            self.outcome.error = in_short(failed)
        finally:
            self._read_progress(query)
            query.stop()
        return self.outcome

    def _start(self) -> StreamingQuery:
        shutil.rmtree(self.work, ignore_errors=True)
        lay_out(self.prepared, self.work)
        build: parts.Part = getattr(parts, self.run.part)
        result: DataFrame = build(parts.Streams(self.spark, self.work / "live"))
        return (
            result.writeStream.format("memory")
            .queryName(self._table)
            .option("checkpointLocation", str(self.work / "checkpoint"))
            .outputMode("append")
            .start()
        )

    def _step(self, query: StreamingQuery, step: int) -> None:
        # An idle query looks for files in turn, stream by stream. When this call returns,
        # the query has just looked: both files arrive before it looks again, and so they
        # are always read in one batch.
        query.processAllAvailable()
        arrive(self.work, "departures", step)
        if not (self.run.silent and step >= SILENT_FROM):
            arrive(self.work, "weather", step)
        # Returns when the files are read and no batch without data is due.
        query.processAllAvailable()
        self._read_output(step)

    def _read_output(self, step: int) -> None:
        # As text, because Python would show a timestamp in the machine's own zone.
        table = self.spark.table(self._table).withColumn("hour", F.col("hour").cast("string"))
        # The memory sink only appends: what is beyond the last look is new.
        rows = table.collect()[self.outcome.rows :]
        self.outcome.rows += len(rows)
        for row in rows:
            if row["what"] == "departures":
                self.outcome.given.append((step, row["hour"], row["count"]))

    def _read_progress(self, query: StreamingQuery) -> None:
        progress_figures = figures(query)
        self.outcome.batches, self.outcome.peak_state, self.outcome.late = progress_figures

    @property
    def _table(self) -> str:
        return self.run.name.replace("-", "_")


def in_short(error: PySparkException) -> str:
    """An engine's refusal in one line: the named condition, else its first sentence.

    A query's failure comes wrapped in the query's ids; the cause is what tells.
    """
    cause = str(error).split(" terminated with exception: ")[-1]
    named = re.match(r"\[(?:\w+\.)*([A-Z_]{4,})\]", cause)
    return named[1] if named else cause.split("\n")[0].split(". ")[0]
