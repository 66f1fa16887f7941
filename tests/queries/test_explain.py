"""`explain`: what a DataFrame would wait for, and what is wrong with it, before it is started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import refusal

import tidemark

Feeds = Callable[..., Feed]


def timed(feed: Feeds, name: str, **options: Any) -> DataFrame:
    rows = feed(name, f"{name}_id LONG, {name}_at TIMESTAMP").stream()
    return tidemark.with_watermark(
        rows, f"{name}_at", "10 minutes", key=name, max_ahead="1 day", **options
    )


def test_an_outer_join_says_whom_each_side_waits_for(feed: Feeds) -> None:
    near = "o_id = p_id AND p_at >= o_at AND p_at <= o_at + INTERVAL 15 MINUTES"
    joined = timed(feed, "o").join(timed(feed, "p"), F.expr(near), "left_outer")
    explained = tidemark.explain(joined)
    left, right = explained.operators
    assert (left.operator, left.side, left.column) == ("join (left outer) #0", "left", "o_at")
    assert (left.late_by, left.waits_for, left.after_ms) == (("o",), ("p",), 900_001)
    assert (right.waits_for, right.keeps_forever) == (("o",), False)
    assert {finding.code for finding in explained.findings} == {"NO_IDLE_TIME", "OUTER_ROWS_WAIT"}
    assert str(explained) == explained.text
    assert 'late by "o_at"' in explained.text


def test_a_finding_has_a_code_a_sentence_and_a_fix(feed: Feeds) -> None:
    days = timed(feed, "o").groupBy(F.to_date("o_at").alias("day")).count()
    lost = tidemark.explain(days).findings[0]
    assert (lost.code, lost.severity) == ("MARK_LOST", "error")
    assert (lost.column, lost.operator) == ("o_at", "aggregation by to_date(o_at)")
    assert lost.sentence in str(lost)
    assert f"Fix this by {lost.fix}." in str(lost)
    with pytest.raises(FrozenInstanceError):
        lost.code = "OTHER"  # type: ignore[misc]
    kept = tidemark.explain(days, output_mode="update").findings[0]
    assert (kept.code, kept.severity) == ("MARK_LOST", "warning")


def test_windows_of_one_input_have_the_usual_finding_and_leave_no_view(
    feed: Feeds, spark: SparkSession
) -> None:
    before = spark.catalog.listTables()
    explained = tidemark.explain(timed(feed, "o").groupBy(F.window("o_at", "1 hour")).count())
    assert [finding.code for finding in explained.findings] == ["LAST_WINDOW_STAYS"]
    assert [operator.waits_for for operator in explained.operators] == [("o",)]
    assert spark.catalog.listTables() == before


def test_what_is_not_a_stream_or_no_output_mode_is_refused(
    feed: Feeds, spark: SparkSession
) -> None:
    assert refusal(lambda: tidemark.explain(spark.range(1)))[0] == "NOT_STREAMING"
    mode = cast(Any, "now")
    code, text = refusal(lambda: tidemark.explain(timed(feed, "o"), output_mode=mode))
    assert (code, "append, update or complete" in text) == ("INVALID_OPTION", True)
