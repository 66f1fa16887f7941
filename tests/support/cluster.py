"""A session on executors that are processes of their own; the jar by `spark.jars` alone."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import tidemark


def on_a_cluster(folder: Path) -> SparkSession:
    """A session with two executors. Whatever a cluster writes goes into `folder`."""
    # A local cluster writes its work into SPARK_HOME, and pip's is not ours to write into.
    home = folder / "home"
    for name in ("conf", "work", "logs"):
        (home / name).mkdir(parents=True)
    for name in ("bin", "sbin", "jars", "python"):
        target = Path(pyspark.__file__).parent / name
        if target.exists():
            (home / name).symlink_to(target)
    os.environ["SPARK_HOME"] = str(home)
    return (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.jars", tidemark.jar_path())
        .config("spark.sql.extensions", tidemark.EXTENSION)
        .config("spark.ui.enabled", "false")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.files.minPartitionNum", "4")
        .getOrCreate()
    )
