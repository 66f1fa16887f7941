"""`report` on running queries: the watermark of each operator, and the input that holds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed, millis
from support.streams import Stepper

import tidemark
from tidemark import with_watermark

NO_DATA_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"


def operators(node: dict[str, Any]) -> list[dict[str, Any]]:
    below = [operator for child in node["children"] for operator in operators(child)]
    return [node, *below]


def test_the_report_shows_which_input_holds_the_watermark_of_a_join(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    shown, clicked = (
        feed("shown", "ad LONG, shown TIMESTAMP"),
        feed("clicked", "cad LONG, clicked TIMESTAMP"),
    )
    joined = with_watermark(shown.stream(), "shown", "20 minutes", key="impressions").join(
        with_watermark(clicked.stream(), "clicked", "10 minutes", key="clicks"),
        F.expr("ad = cad AND clicked BETWEEN shown AND shown + INTERVAL 2 MINUTES"),
        "left_outer",
    )
    stepper = run(joined.groupBy(F.window("shown", "1 hour")).count())
    clicked.add(*({"cad": 1, "clicked": f"10:{minute}"} for minute in (10, 20, 30)))
    shown.add({"ad": 1, "shown": "10:00"})
    stepper.step()

    found = tidemark.report(stepper.query).to_dict()
    assert found["engine"] == "tidemark"
    assert stepper.watermarks() == {"impressions": millis("09:40"), "clicks": millis("10:20")}
    nodes = operators(found["plan"])
    assert [node["key"] for node in nodes if "key" in node] == ["impressions", "clicks"]
    aggregation, join = (node for node in nodes if "id" in node)
    columns = {column["name"]: column for column in join["columns"]}
    # The impressions are at 9:40; the clicks alone would allow 10:17:59.999.
    assert columns["shown"]["in_ms"] == columns["shown"]["out_ms"] == millis("09:40")
    assert columns["shown"]["held_by"] == "impressions"
    assert aggregation["eviction_ms"] == millis("09:40")


def test_the_report_text_names_every_input_and_operator(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    events = feed("events", "id LONG, time TIMESTAMP")
    marked = with_watermark(events.stream(), "time", "10 minutes", key="events")
    stepper = run(marked.groupBy(F.window("time", "1 hour")).count())
    events.add({"id": 1, "time": "10:00"})
    stepper.step()
    text = str(tidemark.report(stepper.query))
    assert "time [events], watermark 2024-01-01T09:50:00Z, delay 10 minutes" in text
    assert "aggregation #0" in text
    assert "└─ withWatermark [events]" in text


def test_in_complete_mode_no_row_is_late_and_no_state_is_evicted(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    events = feed("events", "id LONG, time TIMESTAMP")
    marked = with_watermark(events.stream(), "time", "10 minutes", key="events")
    stepper = run(marked.groupBy(F.window("time", "1 hour")).count(), mode="complete")
    events.add({"id": 1, "time": "10:00"})
    stepper.step()
    report = tidemark.report(stepper.query)
    assert report.to_dict()["why"]["code"] == "EMITS_ALL"
    (counts,) = (node for node in operators(report.to_dict()["plan"]) if "id" in node)
    assert (counts["late_ms"], counts["eviction_ms"]) == (None, None)
    assert counts["never_late"] and counts["keeps_forever"]
    assert "no row is late here, state kept forever" in str(report)


def test_the_report_shows_late_rows_at_the_operator_that_drops_them(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    events = feed("events", "id LONG, time TIMESTAMP")
    marked = with_watermark(events.stream(), "time", "10 minutes", key="events")
    stepper = run(marked.groupBy(F.window("time", "10 minutes")).count())
    events.add({"id": 1, "time": "12:00"})
    stepper.step()
    events.add(*({"id": number, "time": f"10:{number}0"} for number in (2, 3, 4)))
    stepper.step()
    assert "aggregation #0, 3 late rows" in str(tidemark.report(stepper.query))


@pytest.mark.classic
def test_the_report_shows_no_finished_batch_during_the_first_batch(
    spark: SparkSession, feed: Callable[..., Feed], tmp_path: Path
) -> None:
    events = feed("events", "id LONG, time TIMESTAMP")
    events.add({"id": 1, "time": "10:00"})
    seen: list[tidemark.results.Report] = []

    def look(_: DataFrame, batch: int) -> None:
        (query,) = spark.streams.active
        seen.append(tidemark.report(query))

    query = (
        with_watermark(events.stream(), "time", "0 seconds")
        .writeStream.trigger(availableNow=True)
        .foreachBatch(look)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    query.awaitTermination()
    assert seen[0].to_dict()["batch"] is None
    assert "no batch has ended yet" in str(seen[0])
    assert tidemark.report(query).to_dict()["batch"] == 0


def test_the_report_states_that_a_query_has_no_watermark(
    spark: SparkSession, feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    stepper = run(feed("events", "id LONG").stream())
    shown = tidemark.report(stepper.query, spark=spark)
    assert shown.to_dict()["engine"] == "spark"
    assert shown.to_dict()["why"]["code"] == "NO_WATERMARK"
    assert str(shown).startswith("The query has no watermark")
    assert "it has no watermark" in str(shown)


def test_a_stopped_query_still_has_a_report(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    events = feed("events", "id LONG, time TIMESTAMP")
    stepper = run(with_watermark(events.stream(), "time", "0 seconds"))
    events.add({"id": 1, "time": "10:00"})
    stepper.step()
    stepper.stop()
    assert stepper.watermarks() == {"time": millis("10:00")}


def test_the_report_can_be_read_from_another_session(
    spark: SparkSession, feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    events = feed("events", "id LONG, time TIMESTAMP")
    stepper = run(with_watermark(events.stream(), "time", "0 seconds"))
    events.add({"id": 1, "time": "10:00"})
    stepper.step()
    other = spark.newSession()
    assert tidemark.report(stepper.query, spark=other).to_dict()["engine"] == "tidemark"
    second_report = tidemark.report(stepper.query)
    assert repr(second_report) == str(second_report)


def test_the_report_shows_checkpointed_watermarks_after_a_restart_until_rows_arrive(
    spark: SparkSession,
    feed: Callable[..., Feed],
    run: Callable[..., Stepper],
    request: pytest.FixtureRequest,
) -> None:
    # With such batches, the run would ask at its first trigger whether one is due.
    spark.conf.set(NO_DATA_BATCHES, "false")
    request.addfinalizer(lambda: spark.conf.unset(NO_DATA_BATCHES))
    events = feed("events", "id LONG, time TIMESTAMP")
    marked = with_watermark(
        events.stream(), "time", "10 minutes", key="events", split_by=F.col("id") % 2
    )
    counted = marked.groupBy(F.window("time", "1 hour")).count()
    stepper = run(counted)
    early = tidemark.report(stepper.query)
    assert "no batch has ended yet: waiting for its first batch" in str(early)
    assert "restart" not in str(early)
    events.add({"id": 1, "time": "10:00"}, {"id": 2, "time": "11:00"})
    stepper.step()
    stepper.stop()

    stepper = run(counted)
    stepper.step()
    shown = tidemark.report(stepper.query)
    assert shown.to_dict()["engine"] == "tidemark"
    assert shown.to_dict()["waiting_since"] == "restart"
    assert stepper.watermarks() == {"events": millis("09:50")}
    assert "waiting for its first batch since the restart" in str(shown)
    assert "2 splits: 2 active" in str(shown)
    assert tidemark.late_rows(stepper.query) == []
    events.add({"id": 1, "time": "10:30"})
    stepper.step()
    assert tidemark.report(stepper.query).to_dict().get("waiting_since") is None
    assert stepper.watermarks() == {"events": millis("10:20")}
