"""A small quiet Spark session, with Tidemark or without: the only difference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from .engines import Engine

QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


def session(
    engine: Engine, work: Path, name: str, more: Mapping[str, str] | None = None
) -> SparkSession:
    """Starts this process's Spark.

    Args:
        engine: with Tidemark or without.
        work: the worker's own folder, for what Spark leaves behind.
        name: the application's name, to which the engine's is added.
        more: settings beside those that every example has.
    """
    work.mkdir(parents=True, exist_ok=True)
    log4j = work / "log4j2.properties"
    log4j.write_text(QUIET, encoding="utf-8")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # All runs on this machine: nothing has to be reached, or to be open, from elsewhere.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Two JVMs on two cores for a few minutes: the optimising compiler and a collector
        # with threads of its own would cost more than they give back in that time.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        # What `file_manager` says: half of a small batch's time, so they start cheaply.
        "-Djdk.lang.Process.launchMechanism=VFORK "
        f"-Dlog4j2.configurationFile={log4j.as_uri()}",
        "spark.sql.streaming.checkpointFileManagerClass": file_manager(),
        "spark.sql.warehouse.dir": str(work / "warehouse"),
        # Wall-clock times are replayed as if they were UTC.
        "spark.sql.session.timeZone": "UTC",
        # A few rows a batch need no 200 tasks; how much state there is stays the same.
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        "spark.sql.streaming.pollingDelay": "100ms",
        **(more or {}),
    }
    builder = SparkSession.builder.master("local[2]").appName(f"{name}-{engine}")
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    if engine == "tidemark":
        import tidemark

        builder = tidemark.configure(builder)
    return builder.getOrCreate()


def file_manager() -> str:
    """The class that keeps checkpoints by Hadoop's `FileSystem`.

    Where Hadoop's native library is missing, it starts a process (chmod) for what it does to a local file: one per
    file, where Spark's usual class starts three.
    """
    package = "org.apache.spark.sql.execution.streaming"
    if not pyspark.__version__.startswith("4.0."):
        package += ".checkpointing"
    return f"{package}.FileSystemBasedCheckpointFileManager"
