"""Queries driven step by step, and the errors they end with."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import tidemark
from common.settings import with_settings
from support.processes import PATIENCE_SECONDS

Row = tuple[Any, ...]


class Batches:
    """The rows of each batch of a query, for `foreachBatch`."""

    def __init__(self, df: DataFrame) -> None:
        self._collected: dict[int, list[Row]] = {}
        self._spark = df.sparkSession
        # On Spark Connect the batches run in the server's process, which writes their rows to files.
        is_connect = type(df).__module__.startswith("pyspark.sql.connect")
        # Deleted together with this object.
        self._temporary = tempfile.TemporaryDirectory() if is_connect else None
        self._folder = Path(self._temporary.name) if self._temporary else None

    @property
    def taker(self) -> Callable[[DataFrame, int], None]:
        folder = self._folder

        def collect(df: DataFrame, batch: int) -> None:
            self._collected[batch] = [tuple(row) for row in df.collect()]

        def leave(df: DataFrame, batch: int) -> None:
            df.write.mode("overwrite").parquet(f"{folder}/{batch}")

        return leave if folder else collect

    def get(self) -> dict[int, list[Row]]:
        """All batches so far, in order."""
        if self._folder:
            for path in self._folder.glob("*/_SUCCESS"):
                batch = int(path.parent.name)
                if batch not in self._collected:
                    rows = self._spark.read.parquet(str(path.parent)).collect()
                    self._collected[batch] = [tuple(row) for row in rows]
        return dict(sorted(self._collected.items()))


class Stepper:
    """A running query; each `step` processes all available input, no-data batches included."""

    def __init__(self, df: DataFrame, mode: str, checkpoint: Path) -> None:
        self._batches = Batches(df)
        self._seen = 0
        self.query: StreamingQuery = (
            df.writeStream.outputMode(mode)
            .foreachBatch(self._batches.taker)
            .option("checkpointLocation", str(checkpoint))
            .start()
        )

    def step(self) -> list[Row]:
        """The rows emitted since the last step, sorted."""
        self.query.processAllAvailable()
        out = [row for rows in self._batches.get().values() for row in rows]
        fresh, self._seen = out[self._seen :], len(out)
        return sorted(fresh, key=repr)

    @property
    def batches(self) -> list[list[Row]]:
        """The rows of each batch so far, each sorted; a batch without rows is an empty list."""
        return [sorted(rows, key=repr) for rows in self._batches.get().values()]

    def step_until(self, done: Callable[[list[Row]], object]) -> list[Row]:
        """Steps until `done` accepts the rows emitted so far, and returns them; for wall-clock effects.

        The result that `done` waits for must come eventually: how long it takes is not checked.
        """
        give_up = time.monotonic() + PATIENCE_SECONDS
        out = self.step()
        while not done(out):
            assert time.monotonic() < give_up, f"it never came; so far there is {out}"
            time.sleep(0.05)
            out += self.step()
        return out

    def observed_late(self, name: str = "tidemark") -> dict[str, Any]:
        """The counts of late rows in the last batch with input rows."""
        return {
            field: value
            for field, value in self.observed(name).items()
            if field.startswith("late_rows")
        }

    def observed(self, name: str) -> dict[str, Any]:
        """The metrics observed under this name in the last batch with input rows."""
        batches = [batch for batch in self.query.recentProgress if batch.numInputRows]
        found: dict[str, Any] = batches[-1].observedMetrics[name].asDict()
        # Spark Connect wraps the row in another row.
        if found.keys() == {"schema", "values"}:
            names = [field["name"] for field in found["schema"]["fields"]]
            return dict(zip(names, found["values"], strict=True))
        return found

    def state_rows(self) -> int:
        """The number of rows that the query's operators keep in state after the last batch."""
        progress = self.query.lastProgress
        assert progress is not None
        return sum(operator.numRowsTotal for operator in progress.stateOperators)

    def inputs(self) -> dict[str, dict[str, Any]]:
        """The report's entry for each origin, by its key."""
        found = tidemark.report(self.query).to_dict()["inputs"]
        return {origin["key"]: origin for origin in found}

    def watermarks(self) -> dict[str, int | None]:
        """Each origin's watermark by its key, in milliseconds."""
        return {key: origin["watermark_ms"] for key, origin in self.inputs().items()}

    def stop(self) -> None:
        self.query.stop()


def run_once(df: DataFrame, checkpoint: Path, *, mode: str = "append") -> list[Row]:
    """Runs a query over the available input (`availableNow`) and returns the emitted rows."""
    batches = Batches(df)
    query = (
        df.writeStream.outputMode(mode)
        .trigger(availableNow=True)
        .foreachBatch(batches.taker)
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    query.awaitTermination()
    return sorted((row for rows in batches.get().values() for row in rows), key=repr)


def warnings(df: DataFrame) -> list[str]:
    """The codes of what `explain` finds wrong with a streaming DataFrame, beyond what is only worth knowing."""
    return [found.code for found in tidemark.explain(df).findings if found.severity != "info"]


def refusal(action: Callable[[], object]) -> tuple[str | None, str]:
    """The Tidemark code and the text of the error that an action raises."""
    try:
        action()
    except Exception as error:  # noqa: BLE001
        return tidemark.errors.error_code(error), str(error)
    raise AssertionError("no error was raised")


@contextmanager
def stock(spark: SparkSession) -> Iterator[None]:
    """Switches Tidemark off for queries started inside."""
    with with_settings(spark, {"spark.tidemark.enabled": "false"}):
        yield


@contextmanager
def left_to_spark(spark: SparkSession) -> Iterator[None]:
    """Queries started inside run as stock Spark does.

    Tidemark leaves queries with this policy alone. With one watermark it is the same as `min`, so
    the results are those of stock Spark, from the same session.
    """
    with with_settings(spark, {"spark.sql.streaming.multipleWatermarkPolicy": "max"}):
        yield
