"""The options of a watermark: what the engine is told, and what is refused before it is."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession

from tidemark import TidemarkError
from tidemark._options import Options, as_json, read_options
from tidemark._splits import split_columns

NOBODY = cast(SparkSession, object())
NOTHING: dict[str, Any] = {
    "key": None,
    "idle_after": None,
    "expected_splits": None,
    "on_return": None,
    "when_idle": None,
    "max_ahead": None,
    "join_idle": None,
}


def read(splits: int = 0, **given: Any) -> Options:
    assert given.keys() <= NOTHING.keys()
    return read_options(NOBODY, splits=splits, **{**NOTHING, **given})


def refusal(splits: int = 0, **given: Any) -> str:
    with pytest.raises(TidemarkError) as caught:
        read(splits, **given)
    assert str(caught.value).count("Fix this by") == 1
    return f"{caught.value.code}: {caught.value.message}"


def test_what_is_left_out_is_absent() -> None:
    assert json.loads(as_json(read(splits=2))) == {}


def test_each_option_has_the_engines_name_and_unit() -> None:
    options = read(
        splits=1,
        key="orders",
        idle_after="1 minute",
        expected_splits=["a", 1, None],
        on_return="catch_up",
        when_idle="advance",
        max_ahead=timedelta(days=1),
        join_idle="follow",
    )
    assert json.loads(as_json(options)) == {
        "key": "orders",
        "idleAfterMs": 60_000,
        "expectedSplits": [["a"], ["1"], [None]],
        "onReturn": "catch_up",
        "whenIdle": "advance",
        "maxAheadMs": 86_400_000,
        "joinIdle": "follow",
    }


def test_none_is_said_to_the_engine_and_is_not_the_setting() -> None:
    options = read(idle_after="none", max_ahead="none")
    assert json.loads(as_json(options)) == {"idleAfterMs": "none", "maxAheadMs": "none"}


def test_the_text_is_ascii_whatever_a_key_is_made_of() -> None:
    odd = 'ö"\\\n\u2028`'
    assert as_json(read(key=odd)).isascii()
    assert json.loads(as_json(read(key=odd))) == {"key": odd}


def test_times_are_refused_under_the_option_they_were_given_for() -> None:
    assert refusal(idle_after="0 seconds") == "INVALID_IDLE_AFTER: idle_after '0 seconds' is zero"
    assert refusal(max_ahead=timedelta(days=-1)) == (
        "INVALID_MAX_AHEAD: max_ahead '-1 day, 0:00:00' is negative"
    )
    assert refusal(idle_after=60).startswith("INVALID_IDLE_AFTER: idle_after '60' is of type int")


@pytest.mark.parametrize("option", ["on_return", "when_idle", "join_idle"])
@pytest.mark.parametrize("value", ["HOLD", "", 1, ["hold"]])
def test_a_choice_is_one_of_its_values(option: str, value: object) -> None:
    given: dict[str, Any] = {option: value}
    assert refusal(**given).startswith(f"INVALID_OPTION: {option} is {value!r}")


def test_the_older_name_of_a_choice_is_still_understood() -> None:
    assert read(when_idle="stop") == {"whenIdle": "rise"}


def test_expected_splits_need_something_that_tells_them_apart() -> None:
    assert refusal(expected_splits=["a"]).startswith("INVALID_SPLITS: expected_splits names splits")
    assert refusal(expected_splits=[]).startswith("INVALID_SPLITS")
    assert refusal(splits=2, expected_splits=["a"]).startswith("INVALID_SPLITS: The expected split")


@pytest.mark.parametrize(
    ("split_by", "said"), [([], "empty list"), (3, "of type int"), ([None], "None")]
)
def test_split_by_is_names_and_columns(split_by: Any, said: str) -> None:
    with pytest.raises(TidemarkError, match=said) as caught:
        split_columns(cast(DataFrame, object()), split_by)
    assert caught.value.code == "INVALID_SPLITS"
