"""`correct` and `forget`: a person changes what a stopped query remembers of its clocks."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import refusal, run_once

import tidemark
from tidemark._command.log import as_text

SCHEMA = "device STRING, time TIMESTAMP"


def hourly(events: Feed, **options: Any) -> DataFrame:
    marked = tidemark.with_watermark(
        events.stream(), "time", "10 minutes", key="orders", split_by="device", **options
    )
    return marked.groupBy(F.window("time", "10 minutes")).count()


def test_a_query_goes_on_after_a_row_of_the_far_future(tmp_path: Path, spark: SparkSession) -> None:
    events, checkpoint = Feed(spark, tmp_path / "events", SCHEMA), tmp_path / "check point's"
    events.add({"device": "a", "time": "10:05"})
    assert run_once(hourly(events), checkpoint) == []
    events.add({"device": "a", "time": "2100-01-01T00:00:00Z"})
    run_once(hourly(events), checkpoint)
    done = tidemark.correct(checkpoint, key="orders", to=datetime(2024, 1, 1, 10, 30))
    assert (done.before, done.watermark) == ("2099-12-31 23:50:00", "2024-01-01 10:30:00")
    assert done.kept is not None and "come again" in done.follows
    last = tidemark.watermark_log(checkpoint).where("corrected").collect()
    assert all(row.why is None for row in last)
    # What the batch before said is no longer so.
    rows = map(json.loads, tidemark.watermark_log(checkpoint).toJSON().collect())
    said = next(as_text(list(rows)))
    assert said == "The last entry was corrected. The query continues from it when it starts."
    assert [(row["batch"], row["split"]) for row in last] == [(done.batch, "a")]
    events.add({"device": "a", "time": "10:35"}, {"device": "a", "time": "10:55"})
    run_once(hourly(events, max_ahead="1 hour"), checkpoint)
    watermark = (
        tidemark.watermark_log(checkpoint).orderBy(F.desc("batch")).collect()[0]["watermark"]
    )
    assert watermark == datetime(2024, 1, 1, 10, 45)
    assert tidemark.correct(checkpoint, "orders", to="2024-01-01 11:00").kept is None


def test_a_split_that_is_forgotten_is_not_in_the_log(tmp_path: Path, spark: SparkSession) -> None:
    events, checkpoint = Feed(spark, tmp_path / "events", SCHEMA), tmp_path / "checkpoint"
    events.add({"device": "a", "time": "10:35"}, {"device": "dead", "time": "10:05"})
    run_once(hourly(events), checkpoint)
    done = tidemark.forget(checkpoint, "orders", "dead")
    assert (done.before, done.watermark) == ("2024-01-01 09:55:00", "2024-01-01 10:25:00")
    kept = tidemark.watermark_log(checkpoint).where(f"batch = {done.batch}").collect()
    assert [row["split"] for row in kept] == ["a"]
    code, text = refusal(lambda: tidemark.forget(checkpoint, "orders", "dead"))
    assert code == "UNKNOWN_SPLIT" and "there are 'a'" in text
    code, text = refusal(lambda: tidemark.correct(checkpoint, "it's"))
    assert code == "UNKNOWN_KEY" and "there are 'orders'" in text


def test_a_location_without_a_log_and_a_wrong_time_are_refused(
    tmp_path: Path, spark: SparkSession
) -> None:
    assert refusal(lambda: tidemark.correct(tmp_path, "orders"))[0] == "NO_LOG"
    assert refusal(lambda: tidemark.forget("", "orders", "a"))[0] == "NO_LOG"
    wrong = refusal(lambda: tidemark.correct(tmp_path, "orders", to="noon"))
    assert wrong[0] == "WRONG_ARGUMENTS"


@pytest.mark.parametrize("arguments", [(7, "a"), ("orders", None)])
def test_a_key_or_a_split_that_is_not_text_is_refused(arguments: tuple[Any, Any]) -> None:
    assert refusal(lambda: tidemark.forget("/anywhere", *arguments))[0] == "INVALID_OPTION"
