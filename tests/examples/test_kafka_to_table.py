"""The job from the Kafka guide, with records from files instead of a broker."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.feeds import Feed
from support.pages import ROOT

RECORD = "topic STRING, partition INT, value STRING"


@pytest.fixture
def job() -> ModuleType:
    spec = importlib.util.spec_from_file_location("job", ROOT / "examples" / "kafka_to_table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def send(feed: Feed, topic: str, *values: dict[str, Any], partition: int = 0) -> None:
    feed.add(
        *({"topic": topic, "partition": partition, "value": json.dumps(value)} for value in values)
    )


def order(name: str, at: str, amount: float) -> dict[str, Any]:
    return {"order_id": name, "order_time": f"2024-01-01T{at}:00Z", "amount": amount}


def payment(name: str, at: str) -> dict[str, Any]:
    return {"order_id": name, "payment_time": f"2024-01-01T{at}:00Z"}


@pytest.mark.more
@pytest.mark.classic
@pytest.mark.usefixtures("one_partition")
def test_the_kafka_job_appends_each_hour_once_over_two_runs(
    spark: SparkSession, feed: Callable[..., Feed], job: ModuleType, tmp_path: Path
) -> None:
    orders, payments = feed("orders", RECORD), feed("payments", RECORD)

    def run() -> list[str]:
        def parsed(records: Feed, schema: str) -> DataFrame:
            return job.parsed(records.stream(), schema)

        result = job.revenue(parsed(orders, job.ORDER), parsed(payments, job.PAYMENT))
        query = job.write(result, "revenue", str(tmp_path / "checkpoint"), "parquet", once=True)
        query.awaitTermination()
        rows = spark.table("revenue").orderBy("hour", "paid").collect()
        return [f"{row.hour:%H:%M} {row.paid} {row.orders} {row.revenue}" for row in rows]

    try:
        # The second partition of each topic is an hour behind the first, and holds the watermark.
        send(orders, "orders", order("a", "10:05", 12.5), order("b", "11:30", 1))
        send(orders, "orders", order("c", "10:10", 30), order("d", "10:20", 20), partition=1)
        send(payments, "payments", payment("a", "10:50"), payment("b", "12:15"))
        send(payments, "payments", payment("c", "10:30"), partition=1)
        assert run() == []
        send(orders, "orders", order("e", "11:20", 2), partition=1)
        send(payments, "payments", payment("d", "12:11"), partition=1)
        assert run() == ["10:00 False 1 20.00", "10:00 True 2 42.50"]
    finally:
        spark.sql("DROP TABLE IF EXISTS revenue")
