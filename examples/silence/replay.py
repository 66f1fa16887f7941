"""Replays the steps into one running query, at the pace of the clock on the wall."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from common import progress
from common.engines import Engine
from common.sink import start
from common.state import counts_left

from . import measure
from .measure import Given
from .outcome import Outcome
from .query import per_minute
from .rules import Rule
from .steps import BACK_IN, INPUTS, STEP_SECONDS, STEPS, arrives


class Replay:
    """One run of the query, its two folders of files, and what came out."""

    def __init__(self, spark: SparkSession, engine: Engine, rule: Rule, work: Path):
        self.spark, self.engine, self.rule = spark, engine, rule
        self.work = work / rule
        self.given: list[Given] = []

    def play(self, stepped: Callable[[], None]) -> Outcome:
        """Runs all steps; ``stepped`` is called after each, for a progress bar."""
        shutil.rmtree(self.work, ignore_errors=True)
        for source in INPUTS:
            (self.work / "live" / source).mkdir(parents=True)
        query = self._start()
        try:
            due, out_in_time, report = time.monotonic(), 0, None
            for step in range(BACK_IN + 1):
                time.sleep(max(0.0, due - time.monotonic()))
                # From this step on, not from the first: a slow step is not made up for.
                due = time.monotonic() + STEP_SECONDS
                if step == STEPS:
                    out_in_time = measure.windows_out(self.given)
                if step == BACK_IN:
                    report = self._report(query)
                self._arrive(step)
                # What a step brings has had all its effect before the next one begins.
                query.processAllAvailable()
                stepped()
            figures, batches = progress.figures(query), measure.batches_of(query.recentProgress)
            said_late = self._late(query, figures.said_late)
        finally:
            query.stop()
        left = counts_left(self.spark, self.work / "checkpoint")
        counted = [*(line[1:] for line in self.given), *left]
        return Outcome(
            rule=self.rule,
            figures=measure.figures(out_in_time, counted),
            held=measure.held(self.given, batches),
            longest_batch=measure.longest_batch(batches),
            peak_state=figures.peak_state,
            batches=figures.batches,
            said_late=said_late,
            report=report,
        )

    def _start(self) -> StreamingQuery:
        if self.engine == "stock":
            self.spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", self.rule)
        counts = per_minute(self.spark, self.engine, self.work / "live")
        return start(counts, self.work / "checkpoint", self._keep)

    def _keep(self, batch: int, rows: list[tuple[Any, ...]]) -> None:
        self.given += [Given(batch, *row) for row in rows]

    def _arrive(self, step: int) -> None:
        for source in INPUTS:
            seconds = arrives(source, step)
            if seconds:
                file = self.work / f"{source}-{step:02}.json"
                lines = (json.dumps({"at": second}) + "\n" for second in seconds)
                file.write_text("".join(lines), encoding="utf-8")
                # Moved when whole: the query never finds half a file.
                file.rename(self.work / "live" / source / file.name)

    def _late(self, query: StreamingQuery, by_spark: int) -> int:
        if self.engine == "stock":
            return by_spark
        import tidemark

        return sum(late.rows for late in tidemark.late_rows(query))

    def _report(self, query: StreamingQuery) -> str | None:
        if self.engine == "stock":
            return None
        import tidemark

        return str(tidemark.report(query))
