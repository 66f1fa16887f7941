"""What rows in event-time order cost: by `in_order`, by a function that buffers and sorts them itself, and without any.

The figure is CPU time of tasks and of the Python workers beside them, for the same rows and the same counting function.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from runs import ROCKSDB, repeated, state_store, whole

import tidemark
from common.settings import with_settings

BEGIN = datetime(2024, 1, 1, 10, tzinfo=timezone.utc)
BATCHES = 8
DELAY = "2 minutes"
SCHEMA = "device LONG, t TIMESTAMP, number LONG"
COUNTED = "device LONG, count LONG, last LONG"

# Python workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def order(
    spark: SparkSession, rounds: int, rows: int, per_key: list[int], stores: list[str]
) -> None:
    """Prints figures for each number of rows that a key has in a batch, in each state store.

    Args:
        spark: The session.
        rounds: Runs of each side, in turn.
        rows: Rows of a batch.
        per_key: Rows of a key in a batch.
        stores: Names of state stores.
    """
    for store in stores:
        with with_settings(spark, state_store(store)):
            for each in per_key:
                with _inputs(spark, rows, rows // each) as folder:
                    for kind, (counting, sorting) in _functions(store).items():
                        title = f"{rows:,} rows a batch, {each:,} of a key, {store}, {kind}"
                        _compare(spark, rounds, title, folder, counting, sorting)


Query = Callable[[DataFrame], DataFrame]


def _functions(store: str) -> dict[str, tuple[Query, Query]]:
    """A function that counts rows as they come, and one that puts them in order first, by how they keep state."""
    both = {"applyInPandasWithState": (_counted, _sorted)}
    if store == ROCKSDB:
        both["transformWithStateInPandas"] = (_with(_Counting), _with(_Sorting))
    return both


def _compare(
    spark: SparkSession, rounds: int, title: str, folder: Path, counting: Query, sorting: Query
) -> None:
    def stream() -> DataFrame:
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(folder)).withWatermark("t", DELAY)

    def ordered() -> DataFrame:
        return tidemark.in_order(stream(), "t", by="device", then="number")

    sides: dict[str, Callable[[], DataFrame]] = {
        "without order": lambda: counting(stream()),
        "sorts by itself": lambda: sorting(stream()),
        "in_order": lambda: counting(ordered()),
        "in_order, wait=False": lambda: counting(
            tidemark.in_order(stream(), "t", by="device", then="number", wait=False)
        ),
    }

    def measure(side: str) -> dict[str, float]:
        before = _workers_cpu()
        run = whole(spark, "tidemark", sides[side])
        return {"tasks": run.task_cpu, "workers": _workers_cpu() - before, "wall": run.wall}

    runs = repeated(rounds, measure, list(sides))
    print(
        f"\n{title}\n{'':24} {'tasks':>8} {'workers':>8} {'wall':>8} {'both / in_order':>18}  (range)"
    )
    both = {side: [run["tasks"] + run["workers"] for run in runs[side]] for side in sides}
    for side in sides:
        middle = {
            name: statistics.median(run[name] for run in runs[side]) for name in runs[side][0]
        }
        ratios = [a / b for a, b in zip(both[side], both["in_order"], strict=True)]
        print(
            f"{side:24} {middle['tasks']:7.2f}s {middle['workers']:7.2f}s {middle['wall']:7.2f}s "
            f"{statistics.median(ratios):17.2f}x  ({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


@contextmanager
def _inputs(spark: SparkSession, rows: int, keys: int) -> Iterator[Path]:
    """A file for each batch: a minute of event time after the one before, out of order by up to two."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-bench-order-"))
    try:
        for number in range(BATCHES):
            many = spark.range(rows)
            back = F.expr(f"make_dt_interval(0, 0, 0, pmod(hash(id, {number}), 120))")
            made = many.select(
                (many.id % keys).alias("device"),
                (F.lit(BEGIN + timedelta(minutes=number)) + back).alias("t"),
                (many.id + number * rows).alias("number"),
            )
            part = folder / f".{number}"
            made.coalesce(1).write.parquet(str(part))
            (file,) = part.glob("*.parquet")
            # Files are read in the order of their times.
            os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
            file.rename(folder / f"{number}.parquet")
            shutil.rmtree(part)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _workers_cpu() -> float:
    """CPU seconds of all Python workers so far, those that have ended included."""
    ticks = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"pyspark.daemon" not in (process / "cmdline").read_bytes():
                continue
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def _row(key: Any, count: int, last: int) -> pd.DataFrame:
    return pd.DataFrame({"device": [key[0]], "count": [count], "last": [last]})


def _counted(rows: DataFrame) -> DataFrame:
    def counted(key: Any, batches: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        count, last = state.get[0] if state.exists else 0, 0
        for batch in batches:
            count, last = count + len(batch), int(batch["number"].iloc[-1])
        state.update((count,))
        yield _row(key, count, last)

    return rows.groupBy("device").applyInPandasWithState(
        counted, COUNTED, "n LONG", "append", "NoTimeout"
    )


def _sorted(rows: DataFrame) -> DataFrame:
    """Rows wait in an array, and are taken out of it when the watermark has passed them.

    It is kept as bytes: Spark 4.3 cannot read state with an ARRAY in it.
    """

    def in_order(key: Any, batches: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        count, times, numbers = state.get if state.exists else (0, b"", b"")
        waiting = [*zip(array("q", times), array("q", numbers), strict=True)]
        if not state.hasTimedOut:
            for batch in batches:
                millis = batch["t"].astype("datetime64[ms]").astype("int64")
                waiting += zip(millis.tolist(), batch["number"].tolist(), strict=True)
        waiting.sort()
        passed = state.getCurrentWatermarkMs()
        due = [number for time, number in waiting if time <= passed]
        waiting = waiting[len(due) :]
        times = array("q", [time for time, _ in waiting]).tobytes()
        numbers = array("q", [number for _, number in waiting]).tobytes()
        state.update((count + len(due), times, numbers))
        if waiting:
            state.setTimeoutTimestamp(max(waiting[0][0], passed + 1))
        if due:
            yield _row(key, count + len(due), due[-1])

    return rows.groupBy("device").applyInPandasWithState(
        in_order,
        COUNTED,
        "n LONG, times BINARY, numbers BINARY",
        "append",
        "EventTimeTimeout",
    )


def _with(processor: type[StatefulProcessor]) -> Query:
    return lambda rows: rows.groupBy("device").transformWithStateInPandas(
        processor(), COUNTED, "Append", "EventTime"
    )


class _Counting(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "n LONG")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        count, last = self._count.get()[0] if self._count.exists() else 0, 0
        for batch in rows:
            count, last = count + len(batch), int(batch["number"].iloc[-1])
        self._count.update((count,))
        yield _row(key, count, last)

    def close(self) -> None:
        pass


class _Sorting(StatefulProcessor):
    """Rows wait in a list, a timer is set for the first of them: what people write by hand."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._count = handle.getValueState("count", "n LONG")
        self._waiting = handle.getListState("waiting", "time LONG, number LONG")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        new: list[tuple[int, int]] = []
        for batch in rows:
            millis = batch["t"].astype("datetime64[ms]").astype("int64")
            new += zip(millis.tolist(), batch["number"].tolist(), strict=True)
        yield from self._emit(key, new, timerValues)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        yield from self._emit(key, [], timerValues)

    def _emit(self, key: Any, new: list[tuple[int, int]], times: Any) -> Iterator[pd.DataFrame]:
        waiting = sorted([*map(tuple, self._waiting.get()), *new])
        passed = times.getCurrentWatermarkInMs()
        due = [number for time, number in waiting if time <= passed]
        waiting = waiting[len(due) :]
        self._waiting.put(waiting)
        if waiting:
            self._handle.registerTimer(max(waiting[0][0], passed + 1))
        if due:
            count = len(due) + (self._count.get()[0] if self._count.exists() else 0)
            self._count.update((count,))
            yield _row(key, count, due[-1])

    def close(self) -> None:
        pass
