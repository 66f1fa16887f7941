"""How a report reads, without Spark: the golden text is what a user sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidemark import Report
from tidemark._report_text import duration, instant

GOLDEN = Path(__file__).parent / "golden"


def data(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return loaded


@pytest.mark.parametrize("name", ["report_join", "report_union"])
def test_a_report_reads_as_its_golden_text(name: str) -> None:
    assert str(Report(data(name))) + "\n" == (GOLDEN / f"{name}.txt").read_text()


def test_a_query_left_to_spark_says_why() -> None:
    left = {
        "query": {"id": "5f1c", "runId": "a2b0", "name": None},
        "batch": None,
        "engine": "spark",
        "reason": "multipleWatermarkPolicy=max",
        "plan": None,
    }
    assert str(Report(left)) == ("query 5f1c: left to Spark (multipleWatermarkPolicy=max)")


def test_before_any_batch_has_ended_it_says_so() -> None:
    early = {"query": {"id": "5f1c"}, "engine": "tidemark", "batch": None}
    assert str(Report(early)) == (
        "query 5f1c, no batch has ended yet: one watermark per event-time column"
    )


def test_plain_data_is_a_copy() -> None:
    report = Report(data("report_join"))
    report.to_dict()["plan"]["children"].clear()
    assert report.to_dict() == data("report_join")


def test_an_empty_document_still_reads() -> None:
    assert str(Report({})) == ("query ?: left to Spark (no reason given)")


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (None, "undefined"),
        (0, "1970-01-01T00:00:00Z"),
        (1383389399999, "2013-11-02T10:49:59.999Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (253402300799000, "9999-12-31T23:59:59Z"),
        (8210266876799000, "8210266876799000 ms"),
    ],
)
def test_times_are_utc_with_milliseconds_only_where_there_are_any(
    millis: int | None, text: str
) -> None:
    assert instant(millis) == text


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "0 seconds"),
        (1, "0.001 seconds"),
        (1000, "1 second"),
        (600_000, "10 minutes"),
        (5_400_000, "1 hour 30 minutes"),
        (86_400_000 + 1500, "1 day 1.5 seconds"),
    ],
)
def test_delays_read_as_people_write_them(millis: int, text: str) -> None:
    assert duration(millis) == text
