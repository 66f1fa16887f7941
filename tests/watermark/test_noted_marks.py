"""A `Marks` that is given as `noted`: its settings count for the query, or the call is refused."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from tidemark import Idle, Noted, TidemarkError
from tidemark._watermark import options as options_module
from tidemark._watermark.noted import as_noted
from tidemark._watermark.options import read_options
from tidemark.marks import Marks

MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths of time are read without Spark here."""
    monkeypatch.setattr(
        options_module, "positive_millis", lambda value, _: value // timedelta(milliseconds=1)
    )


def told(noted: object, **options: Any) -> dict[str, Any]:
    """What the engine is told, without the location."""
    found = dict(read_options(cast(SparkSession, None), noted=as_noted(noted), **options))
    found.pop("noted")
    return found


def test_the_settings_of_a_marks_reach_the_engine(tmp_path: Path) -> None:
    log = Marks(
        tmp_path,
        expected=["us", "eu"],
        only_expected=True,
        idle_after=5 * MINUTE,
        max_ahead=2 * MINUTE,
    )
    assert told(log) == {
        "expectedSplits": [["eu"], ["us"]],
        "onlyExpected": True,
        "idleAfterMs": 300_000,
        "maxAheadMs": 120_000,
    }
    assert told(Noted(log)) == told(log)
    assert Noted(log).expected == ("eu", "us")


def test_a_marks_without_settings_tells_the_engine_nothing(tmp_path: Path) -> None:
    # A day is the limit of a query, too, and the session's setting may be another.
    assert told(Marks(tmp_path)) == {}
    assert told(Marks(tmp_path), max_ahead=2 * MINUTE) == {"maxAheadMs": 120_000}
    assert told(Marks(tmp_path, max_ahead=None)) == {"maxAhead": "none"}


def test_what_both_say_alike_is_taken(tmp_path: Path) -> None:
    log = Marks(tmp_path, expected=["us", "eu"], idle_after=MINUTE, max_ahead=None)
    long = Noted(log, expected=["eu", "us"], only_expected=True)
    assert told(long, idle_after=MINUTE, max_ahead="none") == {
        "expectedSplits": [["eu"], ["us"]],
        "onlyExpected": True,
        "idleAfterMs": 60_000,
        "maxAhead": "none",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"idle_after": 2 * MINUTE}, "idle_after is 120000 ms, but the Marks .* has 60000 ms"),
        ({"idle": Idle("none")}, "idle_after is none, but"),
        ({"max_ahead": "none"}, "max_ahead is none, but the Marks .* has 180000 ms"),
    ],
)
def test_what_they_say_differently_is_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    log = Marks(tmp_path, idle_after=MINUTE, max_ahead=3 * MINUTE)
    with pytest.raises(TidemarkError, match=message) as error:
        told(log, **options)
    assert error.value.code == "INVALID_OPTION"


def test_other_expected_writers_than_those_of_the_marks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TidemarkError, match="which the Marks expects") as error:
        Noted(Marks(tmp_path, expected=["eu", "us"]), expected=["eu"])
    assert error.value.code == "INVALID_OPTION"
