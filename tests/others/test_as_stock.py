"""Delta and Iceberg tables get the same rows from Tidemark and from stock Spark, also after a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.streams import stock

from .tables import Table, windows

Query = Callable[[Table, Table, Path], None]
Rows = list[tuple[Any, ...]]

# The rows of two runs; some rows of the second run are late.
RUNS = [
    [("a", "10:00"), ("b", "10:20")],
    [("b", "10:02"), ("a", "10:40"), ("b", "11:30")],
]


def marked(table: Table) -> DataFrame:
    return table.stream().withWatermark("time", "5 minutes")


def to_table(table: Table, target: Table, checkpoint: Path) -> None:
    query = (
        windows(marked(table))
        .writeStream.option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .toTable(target.full_name, format=target.using)
    )
    query.awaitTermination()


def merged(table: Table, target: Table, checkpoint: Path) -> None:
    def merge(df: DataFrame, _batch: int) -> None:
        df.createOrReplaceTempView("updates")
        df.sparkSession.sql(
            f"MERGE INTO {target.full_name} t USING updates u ON t.device = u.device AND t.start = u.start "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    query = (
        windows(marked(table))
        .writeStream.outputMode("update")
        .foreachBatch(merge)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def deduplicated(table: Table, target: Table, checkpoint: Path) -> None:
    once = marked(table).dropDuplicates(["device", "time"])
    counted = once.select(
        "device", F.date_format("time", "HH:mm").alias("start"), F.lit(1).alias("count")
    )
    query = (
        counted.select("device", "start", F.col("count").cast("long"))
        .writeStream.option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .toTable(target.full_name, format=target.using)
    )
    query.awaitTermination()


def joined(table: Table, target: Table, checkpoint: Path) -> None:
    left = marked(table).alias("l")
    right = marked(table).select("device", "time").alias("r")
    within = F.expr("r.time BETWEEN l.time AND l.time + INTERVAL 10 MINUTES")
    both = left.join(right, (F.col("l.device") == F.col("r.device")) & within, "leftOuter")
    query = (
        both.select(
            "l.device",
            F.date_format("l.time", "HH:mm").alias("start"),
            F.when(F.col("r.time").isNotNull(), 1).otherwise(0).cast("long").alias("count"),
        )
        .writeStream.option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .toTable(target.full_name, format=target.using)
    )
    query.awaitTermination()


@pytest.fixture(scope="session")
def stock_rows() -> dict[tuple[str, Query], Rows]:
    """The rows that stock Spark has written to each table; they do not depend on the order of the extensions."""
    return {}


@pytest.mark.parametrize("kind", ["delta", "delta change feed", "iceberg"])
@pytest.mark.parametrize("query", [to_table, merged, deduplicated, joined])
def test_a_query_writes_the_same_rows_as_on_stock_spark(
    spark: SparkSession,
    tmp_path: Path,
    stock_rows: dict[tuple[str, Query], Rows],
    kind: str,
    query: Query,
) -> None:
    def result(name: str) -> Rows:
        source = Table(spark, kind, "source", "files").create()
        target = Table(spark, kind, "target").create("device STRING, start STRING, count LONG")
        for run in RUNS:
            for reading in run:
                source.add(reading)
            query(source, target, tmp_path / name)
        return target.rows()

    if (kind, query) not in stock_rows:
        with stock(spark):
            stock_rows[kind, query] = result("theirs")
    ours = result("ours")
    assert ours == stock_rows[kind, query]
    assert ours
