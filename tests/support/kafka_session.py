"""A session of a script that works with a real Kafka broker."""

from __future__ import annotations

from pyspark.sql import SparkSession

import tidemark
from common.session import file_manager
from kafka_broker.jars import connector_jars


def kafka_session(connect: str | None = None) -> SparkSession:
    """A session with Tidemark and Spark's Kafka connector.

    Args:
        connect: The master of a Spark Connect server that is started here; None for a classic session.
    """
    builder = SparkSession.builder
    builder = builder.remote(connect) if connect else builder.master("local[2]")
    builder = builder.config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.sql.streaming.checkpointFileManagerClass", file_manager())
    tidemark.configure(builder)
    jars = ",".join([*connector_jars(), str(tidemark.jars.jar_path())])
    return builder.config("spark.jars", jars).getOrCreate()
