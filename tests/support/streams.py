"""Queries driven step by step, and what they say when they fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import tidemark

Row = tuple[Any, ...]

PATIENCE_SECONDS = 120


class Stepper:
    """A running query; each `step` works off what is waiting, no-data batches included."""

    def __init__(self, df: DataFrame, mode: str, checkpoint: Path) -> None:
        self._batches: dict[int, list[Row]] = {}
        self._seen = 0
        self.query: StreamingQuery = (
            df.writeStream.outputMode(mode)
            .foreachBatch(self._collect)
            .option("checkpointLocation", str(checkpoint))
            .start()
        )

    def step(self) -> list[Row]:
        """The rows that came out since the last step, sorted."""
        self.query.processAllAvailable()
        out = [row for batch in sorted(self._batches) for row in self._batches[batch]]
        fresh, self._seen = out[self._seen :], len(out)
        return sorted(fresh, key=repr)

    @property
    def batches(self) -> list[list[Row]]:
        """The rows of each batch so far, each sorted; a batch without rows is an empty list."""
        return [sorted(self._batches[batch], key=repr) for batch in sorted(self._batches)]

    def step_until(self, done: Callable[[list[Row]], object]) -> list[Row]:
        """The rows that came out until `done` was content with them; for what the wall clock does.

        What `done` waits for has to come, sooner or later: how long that takes is not judged.
        """
        give_up = time.monotonic() + PATIENCE_SECONDS
        out = self.step()
        while not done(out):
            assert time.monotonic() < give_up, f"it never came; so far there is {out}"
            time.sleep(0.05)
            out += self.step()
        return out

    def observed(self, name: str) -> dict[str, Any]:
        """What the last batch that read rows has observed by that name."""
        batches = [batch for batch in self.query.recentProgress if batch.numInputRows]
        found: dict[str, Any] = batches[-1].observedMetrics[name].asDict()
        return found

    def state_rows(self) -> int:
        """How many rows the operators of the query keep after the last batch."""
        progress = self.query.lastProgress
        assert progress is not None
        return sum(operator.numRowsTotal for operator in progress.stateOperators)

    def origins(self) -> dict[str, dict[str, Any]]:
        """What the report says of each origin, by its key."""
        found = tidemark.report(self.query).to_dict()["origins"]
        return {origin["key"]: origin for origin in found}

    def watermarks(self) -> dict[str, int | None]:
        """Each origin's watermark by its key, in milliseconds."""
        return {key: origin["watermark_ms"] for key, origin in self.origins().items()}

    def stop(self) -> None:
        self.query.stop()

    def _collect(self, df: DataFrame, batch: int) -> None:
        self._batches[batch] = [tuple(row) for row in df.collect()]


def run_once(df: DataFrame, checkpoint: Path, *, mode: str = "append") -> list[Row]:
    """Runs a query over what is there (`availableNow`) and gives back the rows it put out."""
    rows: list[Row] = []

    def collect(batch: DataFrame, _: int) -> None:
        rows.extend(tuple(row) for row in batch.collect())

    query = (
        df.writeStream.outputMode(mode)
        .trigger(availableNow=True)
        .foreachBatch(collect)
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    query.awaitTermination()
    return sorted(rows, key=repr)


def refusal(action: Callable[[], object]) -> tuple[str | None, str]:
    """The Tidemark code and the text of the error an action ends in."""
    try:
        action()
    except Exception as error:  # noqa: BLE001
        return tidemark.error_code(error), str(error)
    raise AssertionError("no error was raised")


@contextmanager
def left_to_spark(spark: SparkSession) -> Iterator[None]:
    """Queries started inside run as stock Spark does.

    Tidemark leaves queries with this policy alone. With one watermark it is the same as `min`, so
    what comes out is stock Spark's answer, from the same session.
    """
    spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", "max")
    try:
        yield
    finally:
        spark.conf.unset("spark.sql.streaming.multipleWatermarkPolicy")
