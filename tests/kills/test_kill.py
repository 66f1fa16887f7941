"""`kill -9` of Python and JVM in the middle of a batch: no row is lost or duplicated."""

from __future__ import annotations

import sys
from pathlib import Path

from chispa import assert_df_equality
from pyspark.sql import SparkSession
from support.dashboards import SCHEMA, dashboards
from support.feeds import Feed, clock
from support.processes import SCRIPTS, killed_once_there_is

HOURS = 7
BEHIND = 3


def killed(sign: Path, *arguments: str) -> None:
    """Starts the endless program, and kills it as soon as there is a sign."""
    killed_once_there_is(sign, [sys.executable, str(SCRIPTS / "endless.py"), *arguments])


def test_a_query_killed_twice_emits_every_closed_window_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    for hour in range(HOURS):
        for name, behind in (("fast", 0), ("slow", BEHIND)):
            feed = Feed(spark, tmp_path / "in" / name, SCHEMA)
            if hour >= behind:
                feed.add({"id": hour, "time": f"{hour - behind:02}:30"})
    paths = [str(tmp_path / name) for name in ("in", "cp", "out")]

    # First, batch 2 has written its entry but is not committed; then, batch 4 is planned but has not run.
    killed(tmp_path / "cp" / "tidemark" / "2", *paths)
    killed(tmp_path / "cp" / "offsets" / "4", *paths)

    query = dashboards(spark, paths[0], files_per_batch=1).writeStream.format("parquet")
    query = query.option("checkpointLocation", paths[1]).trigger(availableNow=True)
    query.start(paths[2]).awaitTermination()

    # The watermark is ten minutes behind the last row, so every hour except the last is closed.
    closed = [("fast", hour) for hour in range(HOURS - 1)]
    closed += [("slow", hour) for hour in range(HOURS - BEHIND - 1)]
    expected = spark.createDataFrame(
        [(name, clock(f"{hour:02}:00"), 1) for name, hour in closed],
        "name string, start timestamp, count bigint",
    )
    found = spark.read.parquet(paths[2])
    assert_df_equality(found, expected, ignore_row_order=True, ignore_nullable=True)
