"""What lies between the two queries: a folder of Parquet files, or a Kafka topic. Each has the first query's marks."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

import tidemark

from .queries import QUARTERS


class Files:
    """A folder; the marks are in `_tidemark` in it."""

    name = "files"
    log: str | bool = True
    """Where a query of the rows finds the marks, as `with_watermark` takes it."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder / "quarters")

    def write(self, counts: DataFrame) -> DataStreamWriter:
        """The first query, which notes its time."""
        noted = tidemark.note_time(counts, "time", to=True)
        return noted.writeStream.format("parquet").option("path", self._path)

    def read(self, spark: SparkSession) -> DataFrame:
        """What it has written, as a stream."""
        return spark.readStream.schema(QUARTERS).parquet(self._path)


class Kafka:
    """A topic, and another one for marks. They must be there."""

    TOPIC, MARKS, PARTITIONS = "quarters", "tidemark-marks", 3
    name = "Kafka"
    log: str | bool = f"kafka:{MARKS}/{TOPIC}"
    """As for `Files`."""

    def __init__(self, servers: str) -> None:
        self._brokers = {"kafka.bootstrap.servers": servers}

    def write(self, counts: DataFrame) -> DataStreamWriter:
        """As for `Files`. The brokers of the sink have the marks, too."""
        noted = tidemark.note_time(counts, "time", to=str(self.log))
        values = noted.select(F.to_json(F.struct("time", "origin", "flights")).alias("value"))
        return values.writeStream.format("kafka").options(**self._brokers, topic=self.TOPIC)

    def read(self, spark: SparkSession) -> DataFrame:
        """As for `Files`."""
        reader = spark.readStream.format("kafka").options(**self._brokers, subscribe=self.TOPIC)
        rows = reader.option("startingOffsets", "earliest").load()
        value = F.from_json(F.col("value").cast("string"), QUARTERS)
        return rows.select(value.alias("row")).select("row.*")


Between = Files | Kafka
