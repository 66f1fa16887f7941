"""The cookbook's recipe for change data, on a Delta table."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.pages import GUIDES, section

import tidemark

COLUMNS = ("customer", "changed_at", "number", "what", "name")
(COOKBOOK,) = [page for page in GUIDES if page.stem == "cookbook"]


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    schema = "customer STRING, changed_at TIMESTAMP, number LONG, what STRING, name STRING"
    return Feed(spark, tmp_path / "changes", schema)


def test_a_change_that_arrives_late_does_not_bring_a_deleted_row_back(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    spark.sql("DROP TABLE IF EXISTS customers")
    spark.sql("CREATE TABLE customers (customer STRING, name STRING) USING delta")
    names = {"tidemark": tidemark, "F": F, "changes": feed.stream()}
    for block in section(COOKBOOK, "Change data arrives out of order"):
        exec(block.text.replace('"/checkpoints/', f'"{tmp_path}/'), names)
    query = names["query"]
    try:
        for rows in (
            [("1", "10:00", 1, "insert", "ann"), ("2", "10:01", 2, "insert", "bob")],
            [("1", "10:05", 5, "update", "anna"), ("1", "10:05", 4, "update", "anne")],
            [("2", "10:12", 7, "delete", None), ("3", "10:13", 8, "insert", "cy")],
            [("2", "10:10", 6, "update", "rob"), ("1", "10:04", 3, "update", "hanna")],
            [("4", "11:00", 9, "insert", "dee")],
        ):
            feed.add(*(dict(zip(COLUMNS, row, strict=True)) for row in rows))
            query.processAllAvailable()
        found = spark.table("customers").orderBy("customer").collect()
        assert [tuple(row) for row in found] == [("1", "anna"), ("3", "cy")]
    finally:
        query.stop()
