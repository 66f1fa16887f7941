"""How many rows come behind a later one of their device, wherever somebody looks.

`python -m support.inversions` runs all inputs and all places, on stock Spark and by `in_order`, and
prints a table of their shares, which docs/operators/order.md quotes.
"""

# ruff: noqa: N802, N803 - Spark requires these names.
from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

import tidemark
from kafka_broker.topic import make_topic

DAY = datetime(2024, 1, 1, tzinfo=timezone.utc)
SCHEMA = "device STRING, time TIMESTAMP, n LONG"
BATCHES, FILES, DEVICES = 6, 8, 50
LAST = "last"
"""The device whose row lets the watermark pass all others."""

# Python workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

Numbered = tuple[str, float, float]
"""A device, the time of one of its rows in seconds, and where the row came among those of the device."""

Place = Callable[[DataFrame, Path], tuple[int, int]]
"""Who looks at the rows: given them and the folder of a checkpoint, what `inversions` returns."""


def inversions(rows: Iterable[Numbered]) -> tuple[int, int]:
    """Counts the rows that come behind a later one of their device.

    Returns:
        How many there are, and of how many rows.
    """
    by_device = defaultdict(list)
    for device, seconds, place in rows:
        if device != LAST:
            by_device[device].append((place, seconds))
    behind = 0
    for found in by_device.values():
        latest = float("-inf")
        for _, seconds in sorted(found):
            behind += seconds < latest
            latest = max(latest, seconds)
    return behind, sum(map(len, by_device.values()))


@dataclass(frozen=True)
class Input:
    """Rows in files, and what the query does before anybody looks.

    Attributes:
        name: What the table calls it.
        is_sorted: Whether each file has its rows by time, and no batch has rows before an earlier one.
        files: In how many files a batch is.
        then: What the query does with the rows.
    """

    name: str
    is_sorted: bool = False
    files: int = FILES
    then: Callable[[DataFrame], DataFrame] = lambda rows: rows

    def write(self, folder: Path, rows: int) -> None:
        chance = random.Random(self.name)
        folder.mkdir()
        drawn = [(f"d{chance.randrange(DEVICES)}", chance.random()) for _ in range(rows)]
        size = rows // BATCHES
        for batch in range(BATCHES):
            of_batch = [
                (
                    device,
                    DAY + timedelta(minutes=10 * batch + (10 if self.is_sorted else 20) * part),
                )
                for device, part in drawn[batch * size : (batch + 1) * size]
            ]
            if self.is_sorted:
                of_batch.sort(key=lambda row: row[1])
            for file in range(self.files):
                _write(folder / f"{batch}-{file}.json", of_batch[file :: self.files])
        _write(folder / f"{BATCHES}-0.json", [(LAST, DAY + timedelta(days=1))])


def _write(file: Path, rows: list[tuple[str, datetime]]) -> None:
    lines = [
        json.dumps({"device": device, "time": time.isoformat(), "n": n})
        for n, (device, time) in enumerate(rows)
    ]
    file.write_text("\n".join(lines))


INPUTS = [
    Input("one file a batch, by time", is_sorted=True, files=1),
    Input("eight files a batch, each by time", is_sorted=True),
    Input("eight files, rows 20 minutes apart"),
    Input("eight files, `repartition(4)`", then=lambda rows: rows.repartition(4)),
    Input(
        'by time, `repartition(3, "n")`', is_sorted=True, then=lambda rows: rows.repartition(3, "n")
    ),
    Input("by time, `coalesce(2)`", is_sorted=True, then=lambda rows: rows.coalesce(2)),
    Input(
        "a union of two halves",
        then=lambda rows: rows.where("n % 2 = 0").union(rows.where("n % 2 = 1")),
    ),
    Input(
        "rows 20 minutes apart, `repartitionByRange`",
        then=lambda rows: rows.repartitionByRange(3, "device"),
    ),
]


class Counter(StatefulProcessor):
    """Numbers the rows of a device as they come."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._n = handle.getValueState("n", "n LONG")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        n = self._n.get()[0] if self._n.exists() else 0
        for batch in rows:
            yield _numbered(key, batch, n)
            n += len(batch)
        self._n.update((n,))

    def close(self) -> None:
        pass


def _numbered(key: Any, batch: pd.DataFrame, n: int) -> pd.DataFrame:
    seconds = batch["time"].map(lambda time: time.timestamp())
    return pd.DataFrame({"device": key[0], "seconds": seconds, "number": range(n, n + len(batch))})


_NUMBERED = "device STRING, seconds DOUBLE, number LONG"


def numbered(rows: DataFrame) -> DataFrame:
    """Numbers a device's rows as they come: how a function with state sees them."""

    def counted(key: Any, batches: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        n = state.get[0] if state.exists else 0
        for batch in batches:
            yield _numbered(key, batch, n)
            n += len(batch)
        state.update((n,))

    return rows.groupBy("device").applyInPandasWithState(
        counted, _NUMBERED, "n LONG", "append", "NoTimeout"
    )


def transformed(rows: DataFrame) -> DataFrame:
    """The same by `transformWithStateInPandas`."""
    return rows.groupBy("device").transformWithStateInPandas(Counter(), _NUMBERED, "Append", "None")


def _seen_by_state(function: Callable[[DataFrame], DataFrame]) -> Place:
    def seen(rows: DataFrame, folder: Path) -> tuple[int, int]:
        found: list[Numbered] = []
        _run(function(rows), folder, lambda out, _: found.extend(map(tuple, out.collect())))
        return inversions(found)

    return seen


def _seen_behind(look: Callable[[DataFrame], DataFrame]) -> Place:
    """For what sees one batch after the other: within a batch, `place` numbers the rows of a task."""

    def seen(rows: DataFrame, folder: Path) -> tuple[int, int]:
        found: list[Numbered] = []

        def add(out: DataFrame, batch: int) -> None:
            placed = out.select("device", F.unix_micros("time") / 1e6, "place").collect()
            found.extend(
                (device, seconds, batch * 1e9 + place) for device, seconds, place in placed
            )

        _run(look(rows), folder, add)
        return inversions(found)

    return seen


def _python_udf(rows: DataFrame) -> DataFrame:
    # Each task has a function of its own, and one task at a time has the rows of a device.
    last = [0]

    @F.udf("LONG")
    def next_place(_: object) -> int:
        last[0] += 1
        return last[0]

    return rows.withColumn("place", next_place("device"))


def _map_in_pandas(rows: DataFrame) -> DataFrame:
    def placed(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        n = 0
        for batch in batches:
            yield batch.assign(place=range(n, n + len(batch)))
            n += len(batch)

    return rows.mapInPandas(placed, f"{SCHEMA}, place LONG")


def _for_each_batch(rows: DataFrame, folder: Path) -> tuple[int, int]:
    found: list[Numbered] = []

    def add(out: DataFrame, batch: int) -> None:
        placed = out.select("device", F.unix_micros("time") / 1e6).collect()
        found.extend(
            (device, seconds, batch * 1e9 + n) for n, (device, seconds) in enumerate(placed)
        )

    _run(rows, folder, add)
    return inversions(found)


def _first_of_key(rows: DataFrame, folder: Path) -> tuple[int, int]:
    """Of 20 minutes of a device, `dropDuplicates` keeps one row: how many are not the first ones."""
    spans = rows.withColumn("span", F.floor(F.unix_seconds("time") / 1200))
    kept: list[Any] = []
    _run(
        spans.dropDuplicates(["device", "span"]), folder, lambda out, _: kept.extend(out.collect())
    )
    files = rows.sparkSession.read.schema(SCHEMA).json(str(folder.parent / "in"))
    first = {
        (row["device"], row["span"]): row["time"]
        for row in files.groupBy("device", F.floor(F.unix_seconds("time") / 1200).alias("span"))
        .agg(F.min("time").alias("time"))
        .collect()
    }
    found = [row for row in kept if row["device"] != LAST]
    return sum(row["time"] != first[row["device"], row["span"]] for row in found), len(found)


def kafka_sink(servers: str) -> Place:
    """Each device's rows by partition and offset, in a topic with rows of many devices."""

    def seen(rows: DataFrame, folder: Path) -> tuple[int, int]:
        topic = folder.parent.name
        make_topic(servers, topic, 4)
        seconds = F.unix_micros("time") / 1e6
        query = (
            rows.select(F.col("device").alias("key"), seconds.cast("STRING").alias("value"))
            .writeStream.format("kafka")
            .option("kafka.bootstrap.servers", servers)
            .option("topic", topic)
            .option("checkpointLocation", str(folder))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        written = rows.sparkSession.read.format("kafka").option("subscribe", topic)
        found = written.option("kafka.bootstrap.servers", servers).load().collect()
        return inversions(
            (
                record["key"].decode(),
                float(record["value"]),
                record["partition"] * 1e9 + record["offset"],
            )
            for record in found
        )

    return seen


PLACES: dict[str, Place] = {
    "`applyInPandasWithState`": _seen_by_state(numbered),
    "`transformWithStateInPandas`": _seen_by_state(transformed),
    "`dropDuplicates` keeps the first": _first_of_key,
    "a Python UDF": _seen_behind(_python_udf),
    "`mapInPandas`": _seen_behind(_map_in_pandas),
    "`foreachBatch`": _for_each_batch,
}


def _run(rows: DataFrame, folder: Path, add: Callable[[DataFrame, int], None]) -> None:
    query = (
        rows.writeStream.foreachBatch(add)
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def count(
    spark: SparkSession, drawn: Input, place: Place, rows: int, *, ordered: bool
) -> tuple[int, int]:
    """Runs one query.

    Args:
        spark: A session with the extension.
        drawn: The input.
        place: Who looks at the rows.
        rows: How many rows the input has.
        ordered: Whether `in_order` is above the input.

    Returns:
        How many rows came behind a later one of their device, and how many came.
    """
    with tempfile.TemporaryDirectory() as folder:
        drawn.write(Path(folder) / "in", rows)
        read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", drawn.files)
        read = read.json(str(Path(folder) / "in")).withWatermark("time", "20 minutes")
        changed = drawn.then(read)
        if ordered:
            changed = tidemark.in_order(changed, "time", by="device", then="n")
        return place(changed, Path(folder) / "checkpoint")


def main() -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = tidemark.configure(SparkSession.builder.master("local[2]")).getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", 3)
    spark.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    spark.sparkContext.setLogLevel("ERROR")
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 60000
    print(f"| | {' | '.join(PLACES)} |")
    print("|---" * (len(PLACES) + 1) + "|")
    ordered = dict.fromkeys(PLACES, (0, 0))
    for drawn in INPUTS:
        shares = []
        for name, place in PLACES.items():
            behind, of = count(spark, drawn, place, rows, ordered=False)
            shares.append(f"{behind / max(of, 1):.0%}")
            sums = zip(ordered[name], count(spark, drawn, place, rows, ordered=True), strict=True)
            ordered[name] = tuple(map(sum, sums))
        print(f"| {drawn.name} | {' | '.join(shares)} |", flush=True)
    cells = [f"{behind} of {of:,}" for behind, of in ordered.values()]
    print(f"| all of them, by `in_order` | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
