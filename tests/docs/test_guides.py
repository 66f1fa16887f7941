"""Runs the guides' Python and SQL block by block and compares the printed output with the page.

A DataFrame that a block names `result` is run as a query and must emit rows. `explain` must find no fault in it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from support.counting_service import eventually
from support.feeds import Feed
from support.pages import GUIDES, ROOT, blocks
from support.streams import run_once, warnings
from support.web import Reply, Request, serving

import tidemark

pytestmark = pytest.mark.docs
Feeds = Callable[..., Feed]

MONITORING = ROOT / "docs" / "guides" / "monitoring.md"
SOURCE = "topic STRING, partition INT"
# The third day closes all windows of the first day, daily ones included; its last hour closes its earlier hour.
HOURS = ("2024-01-01T10", "2024-01-03T10", "2024-01-03T13")


def inputs(feed: Feeds) -> dict[str, DataFrame]:
    """The streams that the cookbook uses, each with rows from three hours."""
    orders = feed(
        "orders", f"order_id STRING, customer STRING, order_time TIMESTAMP, amount DOUBLE, {SOURCE}"
    )
    payments = feed("payments", f"paid_id STRING, payment_time TIMESTAMP, {SOURCE}")
    readings = feed("readings", "device STRING, at TIMESTAMP, value DOUBLE")
    changes = feed(
        "changes", "customer STRING, changed_at TIMESTAMP, number LONG, what STRING, name STRING"
    )
    for hour in HOURS:
        for place, device in enumerate(("boiler", "mill", "pump")):
            order = f"{hour} {device}"
            where = {"partition": place % 2}
            orders.add(
                {"order_id": order, "order_time": f"{hour}:05:00Z", "amount": 20.0}
                | {"topic": "orders", "customer": device}
                | where
            )
            payments.add(
                {"paid_id": order, "payment_time": f"{hour}:25:00Z", "topic": "payments"} | where
            )
            readings.add({"device": device, "at": f"{hour}:05:00Z", "value": 1.0})
            changes.add(
                {"customer": device, "changed_at": f"{hour}:05:00Z", "number": place}
                | {"what": "update", "name": order}
            )
    streams = {"orders": orders, "payments": payments, "readings": readings, "changes": changes}
    return {name: feed.stream() for name, feed in streams.items()}


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """The address of the service that the cookbook calls. It refuses a third one for an owner at one time."""

    def answer(request: Request) -> Reply:
        if request.in_flight > 2 and request.path.startswith("/owners/"):
            return Reply("", 429, {"Retry-After": "0.01"})
        time.sleep(0.005)
        return Reply(request.path.rpartition("/")[2])

    with serving(answer) as web:
        yield f"http://{web.address}"


def for_the_cookbook(spark: SparkSession, feed: Feeds, folder: Path) -> dict[str, Any]:
    return dict(inputs(feed))


def hourly_job(feed: Feeds, checkpoint: Path) -> Callable[[], StreamingQuery]:
    orders = inputs(feed)["orders"].withWatermark("order_time", "10 minutes")

    def start_job() -> StreamingQuery:
        counts = orders.groupBy(F.window("order_time", "1 hour")).count()
        options = {"checkpointLocation": str(checkpoint)}
        return counts.writeStream.format("noop").options(**options).start()

    return start_job


def for_migration(spark: SparkSession, feed: Feeds, folder: Path) -> dict[str, Any]:
    for table in ("old_revenue", "new_revenue"):
        spark.range(3).createOrReplaceTempView(table)
    return {"tidemark": tidemark, "start_job": hourly_job(feed, folder)}


def for_choosing_times(spark: SparkSession, feed: Feeds, folder: Path) -> dict[str, Any]:
    return {"tidemark": tidemark, "readings": inputs(feed)["readings"]}


def for_monitoring(spark: SparkSession, feed: Feeds, folder: Path) -> dict[str, Any]:
    return {"tidemark": tidemark}


def for_state_size(spark: SparkSession, feed: Feeds, folder: Path) -> dict[str, Any]:
    query = hourly_job(feed, folder)()
    query.processAllAvailable()
    return {"query": query}


PREPARED: dict[str, Callable[[SparkSession, Feeds, Path], dict[str, Any]]] = {
    "choosing-times": for_choosing_times,
    "cookbook": for_the_cookbook,
    "install": lambda *_: {},
    "migration": for_migration,
    "monitoring": for_monitoring,
    "platforms": lambda *_: {},
    "state-size": for_state_size,
    "troubleshooting": lambda *_: {},
}


@pytest.mark.usefixtures("one_partition")
def test_opentelemetry_collects_the_lag_of_each_input(
    spark: SparkSession, feed: Feeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = InMemoryMetricReader()
    monkeypatch.setattr(metrics, "get_meter", MeterProvider([reader]).get_meter)
    export = next(b for b in blocks(MONITORING, "python") if "opentelemetry" in b.text)
    names: dict[str, Any] = {"tidemark": tidemark}
    exec(compile(export.text, "export", "exec"), names)
    orders = inputs(feed)["orders"]
    timed = tidemark.with_watermark(orders, "order_time", "10 minutes", key="orders")
    counts = timed.groupBy(F.window("order_time", "1 hour")).count()
    query = counts.writeStream.format("noop").queryName("hourly").start()
    try:
        query.processAllAvailable()
        names["export_lag"](query)
        before = time.time()
        collected = json.loads(reader.get_metrics_data().to_json())
        (gauge,) = collected["resource_metrics"][0]["scope_metrics"][0]["metrics"]
        assert (gauge["name"], gauge["unit"]) == ("streaming.watermark.lag", "s")
        (point,) = gauge["data"]["data_points"]
        assert point["attributes"] == {"query": "hourly", "input": "orders"}
        watermark = datetime.fromisoformat("2024-01-03T12:55:00+00:00").timestamp()
        assert 0 <= point["value"] - (before - watermark) < 60
    finally:
        query.stop()


@pytest.mark.usefixtures("one_partition")
def test_the_listener_says_what_the_page_promises(
    spark: SparkSession,
    feed: Feeds,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    orders, payments = (feed(name, "time TIMESTAMP") for name in ("orders", "payments"))
    both = tidemark.with_watermark(orders.stream(), "time", "10 minutes", key="orders").union(
        tidemark.with_watermark(payments.stream(), "time", "2 hours", key="payments")
    )
    counts = both.groupBy(F.window("time", "1 hour")).count()
    listener = next(b for b in blocks(MONITORING, "python") if "EventTimeAlerts" in b.text)
    names: dict[str, Any] = {"spark": spark}
    exec(compile(listener.text, "listener", "exec"), names)
    query = counts.writeStream.format("noop").queryName("hourly").start()

    def add(to: Feed, at: str) -> None:
        to.add({"time": at})
        query.processAllAvailable()

    def logs(message: str) -> None:
        eventually(message, lambda: any(text.startswith(message) for text in caplog.messages))

    try:
        payments.add({"time": "10:00"})
        add(orders, "16:00")
        behind = {"behind_ms_orders": 600_000, "behind_ms_payments": 7_200_000}
        logs(f"hourly: more than an hour behind: {behind}")
        assert not any("late rows" in text for text in caplog.messages)
        add(payments, "07:00")
        logs("hourly: 1 late rows")
        assert not any("ahead of the clock" in text for text in caplog.messages)
        future = datetime.now(timezone.utc) + timedelta(days=3)
        add(orders, future.isoformat(timespec="seconds"))
        logs("hourly: watermark_ms_orders is ahead of the clock: ")
        printed = capsys.readouterr().out.splitlines()
        assert any(
            line.startswith("hourly: Nothing comes out: ") and 'waits for "payments"' in line
            for line in printed
        )
    finally:
        query.stop()
        spark.streams.removeListener(names["alert"])


def test_every_guide_is_run_or_has_its_own_tests() -> None:
    assert {page.stem for page in GUIDES} - PREPARED.keys() == {
        "backfill",
        "kafka-job",
        "notebook",
        "pipelines",
    }


@pytest.mark.classic
@pytest.mark.usefixtures("one_partition")
@pytest.mark.parametrize("guide", list(PREPARED))
def test_guide_code_runs_and_prints_the_output_shown(
    spark: SparkSession,
    feed: Feeds,
    guide: str,
    service: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prepared = PREPARED[guide](spark, feed, tmp_path / "prepared")
    names: dict[str, Any] = {"spark": spark, "service": service, **prepared}
    try:
        printed, ran = "", None
        for number, block in enumerate(blocks(ROOT / "docs" / "guides" / f"{guide}.md")):
            capsys.readouterr()
            if block.kind == "text":
                assert printed.strip() == block.text.strip()
            if block.kind == "sql" and block.runs:
                rows = spark.sql(block.text)
                # CREATE VIEW returns no rows to show.
                if rows.columns:
                    rows.show(truncate=False)
            if block.kind == "python" and block.runs:
                here = block.text.replace('"/checkpoints/', f'"{tmp_path}/')
                exec(compile(here, f"{guide}, block {number}", "exec"), names)
                if names.get("result") is not ran:
                    ran = names["result"]
                    # The cookbook says of one recipe that it keeps each key forever.
                    assert set(warnings(ran)) <= {"DEDUP_FOREVER"}, block.text
                    emitted = run_once(ran, tmp_path / f"checkpoint-{number}")
                    assert emitted, f"nothing came out of\n{block.text}"
            printed = capsys.readouterr().out
    finally:
        for query in spark.streams.active:
            query.stop()
        spark.conf.unset("spark.tidemark.enabled")
        if "alert" in names:
            spark.streams.removeListener(names["alert"])
        for view in spark.catalog.listTables():
            if view.isTemporary:
                spark.catalog.dropTempView(view.name)
