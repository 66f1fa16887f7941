"""Tables of Delta and Iceberg to which a test adds one file at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import clock

Reading = tuple[str, str]


OPTIONS = {
    ("delta", "files"): {"maxFilesPerTrigger": "1"},
    ("delta", "bytes"): {"maxBytesPerTrigger": "1b"},
    ("delta", "both"): {"maxFilesPerTrigger": "1", "maxBytesPerTrigger": "1m"},
    ("delta", "roomy bytes"): {"maxBytesPerTrigger": "1m"},
    ("delta", "roomy files"): {"maxFilesPerTrigger": "10"},
    ("delta change feed", "files"): {"maxFilesPerTrigger": "1"},
    ("iceberg", "files"): {"streaming-max-files-per-micro-batch": "1"},
    ("iceberg", "rows"): {"streaming-max-rows-per-micro-batch": "1"},
    ("iceberg", "roomy files"): {"streaming-max-files-per-micro-batch": "10"},
}


@dataclass(frozen=True)
class Table:
    """A table of readings, and how many of its files a batch may read."""

    spark: SparkSession
    kind: str
    name: str
    rule: str = "no limit"

    @property
    def full_name(self) -> str:
        return f"ice.db.{self.name}" if self.kind == "iceberg" else f"default.{self.name}"

    @property
    def using(self) -> str:
        return "iceberg" if self.kind == "iceberg" else "delta"

    def create(self, schema: str = "device STRING, time TIMESTAMP") -> Table:
        feed = (
            "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
            if self.kind == "delta change feed"
            else ""
        )
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.db")
        self.spark.sql(f"DROP TABLE IF EXISTS {self.full_name}")
        self.spark.sql(f"CREATE TABLE {self.full_name} ({schema}) USING {self.using} {feed}")
        return self

    def add(self, *readings: Reading) -> None:
        """Adds one file. It uses SQL, because a DataFrame of Python rows would start a Python worker for each row."""
        rows = ", ".join(f"('{device}', TIMESTAMP '{clock(time)}')" for device, time in readings)
        self.spark.sql(f"INSERT INTO {self.full_name} VALUES {rows}")

    def compact(self) -> None:
        """Writes the rows of an Iceberg table into one file, which adds a snapshot without new rows."""
        self.spark.sql(
            f"CALL ice.system.rewrite_data_files(table => 'db.{self.name}', options => map('rewrite-all', 'true'))"
        )

    def stream(self) -> DataFrame:
        options: dict[str, str] = dict(OPTIONS.get((self.kind, self.rule), {}))
        if self.kind == "delta change feed":
            options |= {"readChangeFeed": "true", "startingVersion": "0"}
        return self.spark.readStream.options(**options).table(self.full_name)

    def rows(self) -> list[tuple[Any, ...]]:
        # `foreachBatch` writes in a session of its own, and Iceberg's catalog in this session has cached the old table.
        self.spark.sql(f"REFRESH TABLE {self.full_name}")
        return sorted((tuple(row) for row in self.spark.table(self.full_name).collect()), key=repr)


def windows(df: DataFrame, by: Iterable[str] = ("device",)) -> DataFrame:
    counts = df.groupBy(*by, F.window("time", "10 minutes").alias("w")).count()
    return counts.select(*by, F.date_format("w.start", "HH:mm").alias("start"), "count")
