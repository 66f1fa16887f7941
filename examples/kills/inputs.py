"""The inputs as streams: a Parquet file for each piece, or a Kafka topic of which each batch takes a piece's worth."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .history import PARTS, Row

SCHEMA = "id LONG, at TIMESTAMP, part INT"
RECORDS_PER_BATCH = 14
"""About a piece: rows are late by the watermark of two batches before, so a batch must not bring much."""
MANY_PER_BATCH = 400


def write_files(spark: SparkSession, folder: Path, pieces: list[list[Row]]) -> None:
    """Writes each piece as one file, in an order that Spark sees; the last one it does not see yet."""
    for number, rows in enumerate(pieces):
        draft = folder.parent / f".{folder.name}-{number}"
        df = spark.createDataFrame(rows, "id LONG, at LONG, part INT")
        df = df.withColumn("at", F.timestamp_seconds("at"))
        df.coalesce(1).write.parquet(str(draft))
        (file,) = draft.glob("*.parquet")
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
        folder.mkdir(parents=True, exist_ok=True)
        is_last = number == len(pieces) - 1
        file.rename(folder / f"{'.' if is_last else ''}{number:05}.parquet")


def show_last(folder: Path) -> None:
    """Lets Spark see the last piece."""
    for file in folder.glob(".*.parquet"):
        file.rename(folder / file.name[1:])


def files(spark: SparkSession, folder: Path) -> DataFrame:
    """The files as a stream, a file a batch."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def make_topic(servers: str, name: str) -> None:
    """A topic with a partition for each part."""
    from kafka_broker import topic

    topic.make_topic(servers, name, PARTS)


def fill_topic(servers: str, name: str, pieces: list[list[Row]]) -> None:
    """Appends pieces to a topic."""
    from kafka_broker.topic import Record, fill

    records = (Record(row.part, str(row.id), str(row.at)) for rows in pieces for row in rows)
    for _ in fill(servers, name, records):
        pass


def topic(spark: SparkSession, servers: str, name: str, most: int) -> DataFrame:
    """The topic as a stream, some records a batch."""
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", name)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", most)
    )
    return reader.load().select(
        F.col("key").cast("string").cast("long").alias("id"),
        F.timestamp_seconds(F.col("value").cast("string").cast("long")).alias("at"),
        F.col("partition").alias("part"),
    )
