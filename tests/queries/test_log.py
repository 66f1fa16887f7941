"""`log`: the watermarks of each batch, read from a checkpoint without the query."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import refusal, run_once

import tidemark
from tidemark._bridge import log_table

SCHEMA = "device STRING, time TIMESTAMP"
Feeds = Callable[..., Feed]


def test_the_log_shows_which_split_held_the_watermark_after_the_query_ends(
    feed: Feeds, tmp_path: Path, spark: SparkSession
) -> None:
    events = feed("events", SCHEMA)
    checkpoint = tmp_path / "checkpoint"
    marked = tidemark.with_watermark(
        events.stream(), "time", "1 minute", key="readings", split_by="device"
    )
    events.add({"device": "a", "time": "12:00"}, {"device": "b", "time": "10:00"})
    assert run_once(marked.groupBy(F.window("time", "10 minutes")).count(), checkpoint) == []

    log = tidemark.watermark_log(checkpoint)
    assert log.columns == [
        "batch", "time", "key", "split", "clock", "watermark", "idle", "held_by_split",
        "corrected", "why",
    ]  # fmt: skip
    entries = log.where("batch = 0").orderBy("split")
    why = entries.select("why.*").distinct().collect()
    assert [(row.code, row.held_by, row.is_trouble) for row in why] == [
        ("HELD_BY_SPLIT", "readings", False)
    ]
    assert 'whose split "b" is at' in why[0].sentence
    assert 'setting idle_after on "readings"' in why[0].fix
    first = entries.drop("batch", "time", "corrected", "why").collect()
    nine = datetime(2024, 1, 1, 9, 59)
    assert [tuple(row) for row in first] == [
        ("readings", "a", datetime(2024, 1, 1, 11, 59), nine, False, "b"),
        ("readings", "b", nine, nine, False, "b"),
    ]
    assert tidemark.watermark_log(str(checkpoint), spark=spark).count() == log.count()


def test_a_folder_without_a_log_is_refused(tmp_path: Path, spark: SparkSession) -> None:
    code, text = refusal(lambda: tidemark.watermark_log(tmp_path))
    assert code == "NO_LOG"
    assert str(tmp_path) in text


@pytest.mark.parametrize("name", ["it's", "a b"])
def test_the_log_accepts_a_location_with_a_quote_or_a_space(
    name: str, tmp_path: Path, spark: SparkSession
) -> None:
    assert f"{tmp_path}/{name}" in refusal(lambda: tidemark.watermark_log(tmp_path / name))[1]


def test_the_log_query_does_not_depend_on_sql_parameters(
    tmp_path: Path, spark: SparkSession
) -> None:
    class WithoutParameters:
        """A session that drops SQL parameters, as Delta's parser does on Spark 4.1."""

        def sql(self, text: str, args: object = None) -> DataFrame:
            return spark.sql(text)

    session = cast(SparkSession, WithoutParameters())
    assert refusal(lambda: log_table(session, str(tmp_path / "it's")).columns)[0] == "NO_LOG"
