"""Runs a streaming query for some batches, by one engine or the other, and compares what its progress says."""

from __future__ import annotations

import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from common.tasks import cpu_nanos

ENGINES = {"stock": "false", "tidemark": "true"}

Write = Callable[[DataStreamWriter], DataStreamWriter]
"""Names the sink."""


def _nowhere(writer: DataStreamWriter) -> DataStreamWriter:
    return writer.format("noop")


Compared = tuple[float, float, list[float]]
"""A figure by both engines: the median of stock, that of Tidemark, and the ratio of each pair of runs."""


WARM_UP = 2
"""Batches of a query that do not count: code is compiled there."""


def progress(
    spark: SparkSession,
    engine: str,
    build: Callable[[], DataFrame],
    batches: int,
    write: Write = _nowhere,
) -> list[dict[str, Any]]:
    """Progress of `batches` batches of a query, without those that warm it up; without `write` its rows go nowhere."""
    with _running(spark, engine, build, write) as running:
        while (running.lastProgress or {"batchId": -1})["batchId"] < batches + WARM_UP - 1:
            _no_error(running)
            time.sleep(0.05)
    return [dict(p) for p in running.recentProgress if p["batchId"] >= WARM_UP][:batches]


@dataclass(frozen=True)
class Whole:
    """A query's run from its start to the end of its input: seconds, and the rows that it had in state at most."""

    wall: float
    task_cpu: float
    peak_state: int


def whole(
    spark: SparkSession, engine: str, build: Callable[[], DataFrame], write: Write = _nowhere
) -> Whole:
    """Runs a query until it has nothing more to do; without `write` its rows go nowhere."""
    before = max(cpu_nanos(spark), default=-1)
    begun = time.monotonic()
    with _running(
        spark, engine, build, lambda writer: write(writer).trigger(availableNow=True)
    ) as running:
        running.awaitTermination()
        wall = time.monotonic() - begun
    took = sum(cpu for stage, cpu in cpu_nanos(spark).items() if stage > before)
    peak = max(_in_state(p) for p in running.recentProgress)
    return Whole(wall, took / 1e9, peak)


@dataclass(frozen=True)
class Steps:
    """A query that gets one input after the other: ms, and seconds of CPU, after the first one."""

    triggers: list[float]
    inputs: list[float]
    task_cpu: float
    peak_state: int


def stepwise(
    spark: SparkSession, engine: str, build: Callable[[Path], DataFrame], inputs: list[Path]
) -> Steps:
    """Runs a query on a folder into which the inputs come one by one, each when the one before has been worked off."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-bench-in-"))
    triggers: list[float] = []
    per_input: list[float] = []
    try:
        with _running(spark, engine, lambda: build(folder), _nowhere) as running:
            last = stage = -1
            for number, path in enumerate(inputs):
                for file in path.glob("*.parquet"):
                    shutil.copy(file, folder / f".{number}")
                    (folder / f".{number}").rename(folder / f"{number:03}.parquet")
                running.processAllAvailable()
                done = [p for p in running.recentProgress if p["batchId"] > last]
                last = max((p["batchId"] for p in done), default=last)
                if number == 0:
                    stage = max(cpu_nanos(spark), default=-1)
                    continue
                times = [float(p["durationMs"]["triggerExecution"]) for p in done]
                triggers += times
                per_input.append(sum(times))
        cpu = sum(cpu for at, cpu in cpu_nanos(spark).items() if at > stage)
        peak = max(_in_state(p) for p in running.recentProgress)
        return Steps(triggers, per_input, cpu / 1e9, peak)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _in_state(progress: Any) -> int:
    return sum(operator["numRowsTotal"] for operator in progress["stateOperators"])


STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "RocksDBStateStoreProvider"


def state_store(name: str) -> dict[str, str]:
    """The setting that chooses a state store, by the name of its class."""
    return {STATE_STORE: f"org.apache.spark.sql.execution.streaming.state.{name}"}


@contextmanager
def _running(
    spark: SparkSession, engine: str, build: Callable[[], DataFrame], write: Write
) -> Iterator[StreamingQuery]:
    """A query with a checkpoint of its own.

    It is built with the engine chosen already: a second watermark is resolved by it.
    """
    spark.conf.set("spark.tidemark.enabled", ENGINES[engine])
    query = build()
    checkpoint = tempfile.mkdtemp(prefix="tidemark-bench-")
    try:
        running = write(query.writeStream).option("checkpointLocation", checkpoint).start()
        try:
            yield running
        finally:
            running.stop()
        _no_error(running)
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)


def _no_error(running: StreamingQuery) -> None:
    error = running.exception()
    if error is not None:
        raise error


def task_cpu(
    spark: SparkSession, engine: str, build: Callable[[], DataFrame], batches: int
) -> float:
    """CPU time (ns) of the tasks of a batch: the median of `batches` of a query with one stage, after its warm-up.

    Of the threads that run tasks alone, so that neither planning nor what else the machine does counts.
    """
    before = max(cpu_nanos(spark), default=-1)
    progress(spark, engine, build, batches)
    took = [cpu for stage, cpu in sorted(cpu_nanos(spark).items()) if stage > before]
    return statistics.median(took[WARM_UP:][:batches])


Measure = Callable[[str], dict[str, float]]
"""A run by an engine: its figures, each by its name."""


def interleaved(rounds: int, measure: Measure, warmed_up: bool = False) -> dict[str, Compared]:
    """Both engines in turn, the order changing."""
    runs = repeated(rounds, measure, list(ENGINES), warmed_up)
    return {
        figure: _compared(*([run[figure] for run in runs[engine]] for engine in ENGINES))
        for figure in runs["stock"][0]
    }


def repeated(
    rounds: int, measure: Measure, engines: list[str], warmed_up: bool = False
) -> dict[str, list[dict[str, float]]]:
    """The figures of each engine's runs, after one that does not count if they are not warmed up."""
    runs: dict[str, list[dict[str, float]]] = {engine: [] for engine in engines}
    for engine in [] if warmed_up else engines:
        measure(engine)
    for number in range(rounds):
        for engine in engines[:: 1 if number % 2 == 0 else -1]:
            runs[engine].append(measure(engine))
    return runs


def _compared(stock: list[float], ours: list[float]) -> Compared:
    ratios = [our / their if their else math.nan for our, their in zip(ours, stock, strict=True)]
    return statistics.median(stock), statistics.median(ours), ratios


def line(label: str, unit: str, compared: Compared) -> str:
    stock, ours, ratios = compared
    middle = statistics.median(ratios)
    return f"{label:42} {stock:9.1f} {ours:9.1f} {unit:7} {middle:6.2f}x  ({min(ratios):.2f} to {max(ratios):.2f})"


def head(title: str) -> str:
    return f"\n{title}\n{'':42} {'stock':>9} {'tidemark':>9} {'':7} {'ratio':>7}  (range)"
