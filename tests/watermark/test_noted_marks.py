"""A `Marks` that is given as `noted`: its settings count for the query, or the call is refused."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.raising import raising

from tidemark import Idle, Noted, TidemarkError
from tidemark._watermark.noted import as_noted
from tidemark._watermark.options import read_options
from tidemark.marks import Marks

MINUTE = timedelta(minutes=1)


def engine_options(noted: object, **options: Any) -> dict[str, Any]:
    """What the engine is told, without the location."""
    found = dict(read_options(noted=as_noted(noted), **options))
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
    assert engine_options(log) == {
        "expectedSplits": [["eu"], ["us"]],
        "onlyExpected": True,
        "idleAfter": "300000 milliseconds",
        "maxAhead": "120000 milliseconds",
    }
    assert engine_options(Noted(log)) == engine_options(log)
    assert Noted(log).expected == ("eu", "us")


def test_a_marks_without_settings_tells_the_engine_nothing(tmp_path: Path) -> None:
    # A day is the limit of a query, too, and the session's setting may be another.
    assert engine_options(Marks(tmp_path)) == {}
    assert engine_options(Marks(tmp_path), max_ahead=2 * MINUTE) == {
        "maxAhead": "0 days 120 seconds 0 microseconds"
    }
    assert engine_options(Marks(tmp_path, max_ahead=None)) == {"maxAhead": "none"}


def test_what_both_say_alike_is_taken(tmp_path: Path) -> None:
    log = Marks(tmp_path, expected=["us", "eu"], idle_after=MINUTE, max_ahead=None)
    long = Noted(log, expected=["eu", "us"], only_expected=True)
    assert engine_options(long, idle_after="1 minute", max_ahead="none") == {
        "expectedSplits": [["eu"], ["us"]],
        "onlyExpected": True,
        "idleAfter": "1 minute",
        "maxAhead": "none",
    }


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"idle_after": 2 * MINUTE}, "idle_after"),
        ({"idle_after": "2 minutes"}, "idle_after"),
        ({"idle": Idle("none")}, "idle_after"),
        ({"max_ahead": "none"}, "max_ahead"),
    ],
)
def test_what_they_say_differently_is_refused(
    tmp_path: Path, options: dict[str, Any], option: str
) -> None:
    log = Marks(tmp_path, idle_after=MINUTE, max_ahead=3 * MINUTE)
    with pytest.raises(TidemarkError) as error:
        engine_options(log, **options)
    assert (error.value.code, error.value.parameters["option"]) == ("INVALID_OPTION", option)


def test_other_expected_writers_than_those_of_the_marks_are_refused(tmp_path: Path) -> None:
    with raising("INVALID_OPTION", option="expected", value=["eu"]):
        Noted(Marks(tmp_path, expected=["eu", "us"]), expected=["eu"])
