"""A Delta table read by the marks of its writers, from its initial snapshot on."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import clock
from support.streams import run_once

import tidemark
from tidemark.marks import DeltaPosition, Marks


def hours(rows: DataFrame) -> DataFrame:
    counts = rows.groupBy(F.window("time", "1 hour")).count()
    return counts.select(F.hour("window.start"), "count")


def test_no_row_of_the_initial_snapshot_is_late_in_whatever_order_its_files_are_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "orders"

    def append(*times: str) -> None:
        rows = spark.createDataFrame([(clock(time),) for time in times], "time TIMESTAMP")
        rows.coalesce(1).write.format("delta").mode("append").save(str(table))

    append("08:10", "08:50")
    spark.sql(f"DESCRIBE DETAIL delta.`{table}`").createOrReplaceTempView("detail")
    (row,) = spark.table("detail").select("id").collect()
    # Later files have earlier rows: Delta reads a snapshot in the order of the files' times.
    append("11:10")
    append("07:30", "08:20")
    writer = Marks(tmp_path / "marks").writer("eu")
    # Not yet: the version comes later.
    writer.note_time(clock("07:59").isoformat() + "Z", DeltaPosition(row["id"], 2))
    writer.note_time(clock("12:00").isoformat() + "Z", DeltaPosition(row["id"], 3))

    def run(name: str, **noted: str) -> list[tuple[object, ...]]:
        stream = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(str(table))
        delay = {} if noted else {"delay": "0 seconds"}
        return run_once(
            hours(tidemark.with_watermark(stream, "time", **delay, **noted)), tmp_path / name
        )

    def by_marks() -> list[tuple[object, ...]]:
        return run("noted", noted=str(tmp_path / "marks"))

    found = by_marks()
    append("09:15", "12:30")
    found += by_marks()
    append("13:00")
    found += by_marks()
    whole = [(7, 1), (8, 3), (9, 1), (11, 1)]
    assert sorted(set(found)) == whole
    # By a guess, what is read after the row of 11:10 is lost.
    assert sorted(run("guessed")) != whole
