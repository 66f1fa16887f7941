"""What the reports have shown of what Tidemark says: it was false or of no help, and is right now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import Stepper

import tidemark
from corpus.reports.common import AT, joined, per_hour

pytestmark = [pytest.mark.more, pytest.mark.classic]

Feeds = Callable[..., Feed]


def test_the_time_that_a_window_behind_a_join_waits_for(
    feed: Feeds, run: Callable[..., Stepper]
) -> None:
    left, right = feed("left", AT), feed("right", AT)
    within = "at2 BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 1 MINUTE"
    marked = (each.stream().withWatermark("at", "5 minutes") for each in (left, right))
    pairs = joined(next(marked), next(marked), "inner", within)
    stepper = run(per_hour(pairs.drop("at2")))
    for time in ("14:10", "15:05:30"):
        for each in (left, right):
            each.add({"id": time, "at": time})
        assert stepper.step() == []
    assert "reaches 2024-01-01T15:05:00Z" not in tidemark.report(stepper.query).why


def test_a_second_watermark_is_not_an_input_that_is_behind(
    feed: Feeds, run: Callable[..., Stepper]
) -> None:
    doors = feed("doors", AT)
    kept = doors.stream().withWatermark("at", "1 minute")
    first = kept.groupBy(F.window("at", "10 minutes")).count()
    times = first.select(F.window_time("window").alias("time")).withWatermark("time", "3 minutes")
    stepper = run(times.groupBy(F.window("time", "1 hour")).count())
    for time in ("14:10", "14:55", "15:04"):
        doors.add({"id": "a", "at": time})
        assert stepper.step() == []
    why = tidemark.report(stepper.query).to_dict()["why"]
    assert not why["is_trouble"], why["sentence"]


def test_when_the_rest_of_a_single_batch_comes_out(feed: Feeds, tmp_path: Path) -> None:
    doors, batches = feed("doors", AT), []

    def take(df: DataFrame, batch: int) -> None:
        batches.append(df.collect())

    counts = per_hour(doors.stream().withWatermark("at", "10 minutes"))
    writer = counts.writeStream.foreachBatch(take).trigger(once=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    doors.add({"id": "a", "at": "10:00"}, {"id": "a", "at": "12:00"})
    query = writer.start()
    query.awaitTermination()
    said = tidemark.report(query).why
    writer.start().awaitTermination()
    assert batches == [[]]
    assert not said.endswith("is emitted when the query is started again.")


def test_explain_does_not_call_the_watermark_of_a_refused_sum_of_counts_unused(feed: Feeds) -> None:
    counts = per_hour(feed("doors", AT).stream().withWatermark("at", "10 minutes"), "id")
    explained = tidemark.explain(counts.groupBy("id").agg(F.sum("count")))
    assert "WATERMARK_UNUSED" not in {finding.code for finding in explained.findings}


def test_explain_names_what_has_replaced_the_time_of_a_window(feed: Feeds) -> None:
    marked = feed("doors", AT).stream().withWatermark("at", "10 minutes")
    moved = marked.withColumn("at", F.expr("at + INTERVAL 1 HOUR"))
    explained = tidemark.explain(per_hour(moved))
    assert "MARK_LOST" in {finding.code for finding in explained.findings}


def test_explain_does_not_advise_a_watermark_on_a_date(feed: Feeds) -> None:
    marked = feed("doors", AT).stream().withWatermark("at", "10 minutes")
    explained = tidemark.explain(marked.groupBy(F.to_date("at")).count())
    [lost] = [finding for finding in explained.findings if finding.code == "MARK_LOST"]
    assert lost.fix
    assert "watermark on the new column" not in lost.fix


def test_a_longer_delay_is_not_an_advice_for_times_before_1970(
    feed: Feeds, run: Callable[..., Stepper]
) -> None:
    doors = feed("doors", AT)
    stepper = run(per_hour(doors.stream().withWatermark("at", "10 minutes")))
    doors.add({"id": "a", "at": "1960-01-01T10:00:00Z"})
    assert stepper.step() == []
    why = tidemark.report(stepper.query).to_dict()["why"]
    assert why["code"] == "ALL_LATE"
    assert "a longer delay" not in why["fix"]
