"""What marks cost a streaming query: for each row, for each batch, and when it starts on a log of a million of them."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from marks import EPOCH, WRITERS, write_marks
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter
from runs import WARM_UP, progress, repeated, task_cpu

import tidemark
from tidemark.marks import FilesPosition, Mark, NumberPosition
from tidemark_marks._protocol.position import encode_position

BATCHES = 30
ROWS = 10
START = 1_700_000_000_000
"""The event time of the first row, ms. The noted times are in the past, so that they are believed."""
DELAY = "10 seconds"
ROW_BATCHES = 3


def noted(spark: SparkSession, rounds: int, million_rows: int, million_marks: float) -> None:
    """Prints what is added to a row, to a batch, and to the first batch of a query."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-bench-noted-"))
    try:
        _rows(spark, rounds, million_rows * 1_000_000, folder / "rows")
        _batches(spark, rounds, folder / "batches")
        _start(spark, rounds, int(million_marks * 1_000_000), folder / "start")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


Query = Callable[[DataFrame], DataFrame]


def _guessed(df: DataFrame) -> DataFrame:
    return tidemark.with_watermark(df, "time", DELAY)


def _by_marks(df: DataFrame) -> DataFrame:
    return tidemark.with_watermark(df, "time", noted=True)


def _counted(df: DataFrame) -> DataFrame:
    return df.groupBy(F.window("time", "5 seconds")).count()


def _compared(what: str, unit: str, base: list[float], other: list[float]) -> None:
    added = statistics.median(b - a for a, b in zip(base, other, strict=True))
    ratios = [b / a for a, b in zip(base, other, strict=True)]
    print(
        f"{what:42} {statistics.median(base):9.1f} {statistics.median(other):9.1f} {unit:6} {added:+8.2f} "
        f"{statistics.median(ratios):6.2f}x  ({min(ratios):.2f} to {max(ratios):.2f})",
        flush=True,
    )


def _head(title: str, base: str, other: str) -> None:
    print(f"\n{title}\n{'':42} {base:>9} {other:>9} {'':6} {'added':>8} {'ratio':>7}  (range)")


def _rows(spark: SparkSession, rounds: int, rows: int, folder: Path) -> None:
    once = folder / "once"
    spark.range(0, rows, 1, 1).select(
        F.expr(f"timestamp_millis({START} + id div 1000) AS time"), F.col("id").alias("value")
    ).write.parquet(str(once))
    (written,) = once.glob("*.parquet")
    every = folder / "every"
    every.mkdir()
    names = [f"{batch}.parquet" for batch in range(WARM_UP + ROW_BATCHES)]
    for name in names:
        (every / name).hardlink_to(written)
    _chain(every, names)

    def read() -> DataFrame:
        schema = "time TIMESTAMP, value LONG"
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(every))

    queries: dict[str, Query] = {"none": lambda df: df, "guessed": _guessed, "noted": _by_marks}

    def measure(case: str) -> dict[str, float]:
        took = task_cpu(spark, "tidemark", lambda: queries[case](read()), ROW_BATCHES)
        return {"ns": took / rows}

    runs = repeated(rounds, measure, list(queries))
    took = {case: [run["ns"] for run in of] for case, of in runs.items()}
    _head(f"A row: CPU time of tasks ({rows:,} rows a batch)", "without", "with")
    for case in ("guessed", "noted"):
        _compared(f"a watermark that is {case}", "ns", took["none"], took[case])


def _chain(folder: Path, names: list[str]) -> None:
    """Marks of ten writers, each of which has written a share of the files."""
    marks = folder / "_tidemark"
    marks.mkdir()
    numbers = dict.fromkeys(range(WRITERS), 0)
    lines: dict[str, list[Mark]] = {}
    for place, name in enumerate(names):
        at = place % WRITERS
        writer = f"gateway-{at}"
        position = encode_position(FilesPosition(frozenset([name])))
        time_millis = START + place * 1000
        mark = Mark(writer, EPOCH, numbers[at], "note", time_millis, EPOCH, position)
        lines.setdefault(writer, []).append(mark)
        numbers[at] += 1
    for of_writer in lines.values():
        write_marks(marks, of_writer)


def _batches(spark: SparkSession, rounds: int, folder: Path) -> None:
    source = folder / "in"
    source.mkdir(parents=True)
    names = [f"{batch:03}.json" for batch in range(WARM_UP + BATCHES)]
    for place, name in enumerate(names):
        times = (START + place * 1000 + row * 100 for row in range(ROWS))
        text = "\n".join(f'{{"millis":{time},"value":{time}}}' for time in times)
        (source / name).write_text(text, encoding="utf-8")
    _chain(source, names)

    def read() -> DataFrame:
        schema = "millis LONG, value LONG"
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.json(str(source)).withColumn("time", F.timestamp_millis("millis"))

    def noting(df: DataFrame) -> DataFrame:
        log = tempfile.mkdtemp(prefix="log-", dir=folder)
        return tidemark.note_time(_counted(_guessed(df)), "window", to=log)

    def nowhere(writer: DataStreamWriter) -> DataStreamWriter:
        return writer.format("noop")

    def files(writer: DataStreamWriter) -> DataStreamWriter:
        return writer.format("parquet").option("path", tempfile.mkdtemp(prefix="out-", dir=folder))

    cases: dict[str, tuple[Query, Callable[[DataStreamWriter], DataStreamWriter]]] = {
        "guessed": (lambda df: _counted(_guessed(df)), nowhere),
        "noted": (lambda df: _counted(_by_marks(df)), nowhere),
        "to files": (lambda df: _counted(_guessed(df)), files),
        "noting": (noting, files),
    }

    def measure(case: str) -> dict[str, float]:
        build, write = cases[case]
        done = progress(spark, "tidemark", lambda: build(read()), BATCHES, write)
        return {"ms": statistics.median(p["durationMs"]["triggerExecution"] for p in done)}

    runs = repeated(rounds, measure, list(cases))
    took = {case: [run["ms"] for run in of] for case, of in runs.items()}
    _head(f"A batch of {ROWS} rows and a count: the whole trigger", "without", "with")
    _compared("a query that reads marks", "ms", took["guessed"], took["noted"])
    _compared("a query that notes its time", "ms", took["to files"], took["noting"])


def _start(spark: SparkSession, rounds: int, count: int, folder: Path) -> None:
    log = folder / "log"
    log.mkdir(parents=True)
    for number in range(WRITERS):
        each = (
            Mark(f"gateway-{number}", EPOCH, n, "note", START + n * 1000, EPOCH, _number(n))
            for n in range(count // WRITERS)
        )
        write_marks(log, each)
    for _ in range(2):
        begun = time.perf_counter()
        table = tidemark.mark_table(str(log), spark=spark)
        found = table.agg(F.count("*"), F.max("time_millis"), F.max("position")).first()
        took = time.perf_counter() - begun
    if found is None or found[0] != count:
        raise RuntimeError(f"There are {count} marks, but the table has {found}.")
    print(f"\ntidemark_marks, {count:,} marks of {WRITERS} writers: {took:.2f} s")

    def measure(case: str) -> dict[str, float]:
        def build() -> DataFrame:
            rows = spark.readStream.format("rate").option("rowsPerSecond", 1).load()
            rows = rows.select(F.col("timestamp").alias("time"), "value")
            if case == "guessed":
                return _counted(_guessed(rows))
            return _counted(tidemark.with_watermark(rows, "time", noted=str(log)))

        begun = time.perf_counter()
        progress(spark, "tidemark", build, 1 - WARM_UP)
        return {"s": time.perf_counter() - begun}

    runs = repeated(rounds, measure, ["guessed", "noted"])
    took_s = {case: [run["s"] for run in of] for case, of in runs.items()}
    _head(f"From the start to the end of the first batch ({count:,} marks)", "without", "with")
    _compared("a query that reads marks", "s", took_s["guessed"], took_s["noted"])


def _number(n: int) -> str:
    return encode_position(NumberPosition(n))
