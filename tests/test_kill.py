"""`kill -9` of Python and JVM in the middle of a batch: nothing is lost, nothing comes twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chispa import assert_df_equality
from pyspark.sql import SparkSession
from support.dashboards import SCHEMA, dashboards
from support.feeds import Feed
from support.processes import SCRIPTS, clean_environment

HOURS = 10
PATIENCE_SECONDS = 120


def killed_once_there_is(sign: Path, *arguments: str) -> None:
    """Starts the endless program and kills it as soon as a file appears in its checkpoint."""
    program = subprocess.Popen(
        [sys.executable, str(SCRIPTS / "endless.py"), *arguments],
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not sign.exists():
            assert program.poll() is None, program.communicate()[1][-4000:]
            assert time.monotonic() < give_up, f"{sign} never came"
            time.sleep(0.005)
    finally:
        # Python and the JVM it started are one process group, of which it is the leader.
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()


@pytest.mark.slow
def test_a_query_killed_twice_puts_out_what_an_unharmed_one_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    for hour in range(HOURS):
        for name, behind in (("fast", 0), ("slow", 3)):
            feed = Feed(spark, tmp_path / "in" / name, SCHEMA)
            if hour >= behind:
                feed.add({"id": hour, "time": f"{hour - behind:02}:30"})
    paths = [str(tmp_path / name) for name in ("in", "cp", "out")]

    # Written, but batch 3 is not committed; then planned, but batch 6 has not run.
    killed_once_there_is(tmp_path / "cp" / "tidemark" / "3", *paths)
    killed_once_there_is(tmp_path / "cp" / "offsets" / "6", *paths)

    def finish(checkpoint: str, output: str) -> None:
        query = dashboards(spark, paths[0], files_per_batch=1).writeStream.format("parquet")
        query = query.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        query.start(output).awaitTermination()

    finish(paths[1], paths[2])
    finish(str(tmp_path / "whole.cp"), str(tmp_path / "whole"))
    harmed, whole = spark.read.parquet(paths[2]), spark.read.parquet(str(tmp_path / "whole"))
    # Closed: what ends by the last row less ten minutes, so all but the last hour of each input.
    assert whole.count() == (HOURS - 1) + (HOURS - 3 - 1)
    assert_df_equality(harmed, whole, ignore_row_order=True)
