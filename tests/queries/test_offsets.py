"""`offsets_at`: how far a query had read its sources at an event time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import refusal, run_once

import tidemark

SCHEMA = "device STRING, time TIMESTAMP"
FILES = (["10:00", "10:20"], ["10:40"], ["10:12", "10:55"])


@pytest.fixture(scope="module")
def checkpoint(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of a query which has read three files, one in each batch with rows."""
    folder = tmp_path_factory.mktemp("offsets")
    events, location = Feed(spark, folder / "events", SCHEMA), folder / "check point's"
    for times in FILES:
        events.add(*({"device": "a", "time": time} for time in times))
        marked = tidemark.with_watermark(events.stream(), "time", "10 minutes", key="readings")
        run_once(marked.groupBy(F.window("time", "10 minutes")).count(), location)
    return location


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2024-01-01T{clock}")


def files(
    checkpoint: Path, time: datetime | str, edge: Literal["complete", "before"], **more: Any
) -> int:
    [source] = tidemark.offsets_at(checkpoint, time, edge=edge, **more)
    assert source.kind == "files" and source.source == "0"
    assert source.starting is None and source.ending is None
    return len(source.files)


def test_offsets_at_returns_the_files_read_at_a_time(checkpoint: Path) -> None:
    assert files(checkpoint, at("10:10"), "complete") == 1
    assert files(checkpoint, at("10:30"), "complete", key="readings") == 2
    assert files(checkpoint, "2024-01-01 10:39", "before") == 1
    assert files(checkpoint, at("10:54"), "before") == 2
    assert files(checkpoint, at("10:55") + timedelta(milliseconds=1), "before") == 3


def test_a_time_with_a_zone_is_that_moment_in_every_zone(checkpoint: Path) -> None:
    moment = at("10:30").astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert files(checkpoint, moment, "complete") == 2


def test_a_time_that_the_log_does_not_cover_is_refused(checkpoint: Path) -> None:
    code, text = refusal(lambda: tidemark.offsets_at(checkpoint, at("10:50")))
    assert code == "NO_CUT"
    assert "the watermark 'readings' is at 2024-01-01 10:45:00" in text
    code, text = refusal(lambda: tidemark.offsets_at(checkpoint, at("10:00"), edge="before"))
    assert code == "NO_CUT" and "batch 0 has read rows up to 2024-01-01 10:20:00" in text
    code, text = refusal(lambda: tidemark.offsets_at(checkpoint, at("10:00"), key="it's"))
    assert code == "NO_CUT" and "no watermark has the key 'it's'; there are 'readings'" in text


@pytest.mark.parametrize(
    "arguments", [{"time": "noon"}, {"time": ""}, {"time": "2024-01-01", "edge": "after"}]
)
def test_a_wrong_time_or_edge_is_refused(arguments: dict[str, Any], checkpoint: Path) -> None:
    code, _ = refusal(lambda: tidemark.offsets_at(checkpoint, **arguments))
    assert code == "WRONG_ARGUMENTS"


def test_a_folder_without_a_log_has_no_offsets(tmp_path: Path, spark: SparkSession) -> None:
    assert refusal(lambda: tidemark.offsets_at(tmp_path, "2024-01-01"))[0] == "NO_LOG"
    assert refusal(lambda: tidemark.offsets_at("", "2024-01-01"))[0] == "NO_LOG"
