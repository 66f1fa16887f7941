"""The options of a watermark: the JSON for the engine, and the values that Python refuses."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import FrozenInstanceError, fields
from datetime import timedelta
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession

from tidemark import Idle, Noted, SplitBy, TidemarkError, with_watermark
from tidemark._watermark.durations import DurationError
from tidemark._watermark.options import Options, as_json, read_options
from tidemark._watermark.split_by import as_split_by, split_columns

NO_SESSION = cast(SparkSession, object())
MILLIS = {"1 minute": 60_000, "1 day": 86_400_000}


@pytest.fixture(autouse=True)
def lengths_without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces Spark's parser with one that knows two durations."""

    def read(value: object, session: SparkSession) -> int:
        if value in MILLIS:
            return MILLIS[str(value)]
        raise DurationError("is none of these two")

    monkeypatch.setattr("tidemark._watermark.options.positive_millis", read)


def read(**given: Any) -> Options:
    return read_options(NO_SESSION, **given)


def refusal(**given: Any) -> str:
    with pytest.raises(TidemarkError) as caught:
        read(**given)
    return sentence(caught.value)


def sentence(error: TidemarkError) -> str:
    assert str(error).count("Fix this by") == 1
    return f"{error.code}: {error.message}"


def test_options_that_are_not_set_are_absent_from_the_json() -> None:
    assert json.loads(as_json(read(split_by=SplitBy(["a", "b"]), idle=Idle()))) == {}


def test_each_option_is_written_with_the_engines_name_and_unit() -> None:
    options = read(
        key="orders",
        split_by=SplitBy("device", expected=["a", 1, None], forget_after="1 day"),
        idle=Idle("1 minute", on_return="catch_up", when_all="advance", at_join="follow"),
        max_ahead="1 day",
    )
    assert as_json(options) == json.dumps(
        {
            "key": "orders",
            "idleAfterMs": 60_000,
            "expectedSplits": [["a"], ["1"], [None]],
            "forgetAfterMs": 86_400_000,
            "onReturn": "catch_up",
            "whenAll": "advance",
            "maxAheadMs": 86_400_000,
            "atJoin": "follow",
        }
    )


def test_idle_after_equals_an_idle_object_with_the_same_duration() -> None:
    assert read(idle_after="1 minute") == read(idle=Idle("1 minute")) == {"idleAfterMs": 60_000}


def test_the_value_none_is_sent_to_the_engine_explicitly() -> None:
    options = read(idle_after="none", max_ahead="none")
    assert json.loads(as_json(options)) == {"idleAfter": "none", "maxAhead": "none"}
    assert read(idle=Idle("none")) == {"idleAfter": "none"}


def test_the_options_json_is_ascii_for_any_key() -> None:
    odd = 'ö"\\\n\u2028`'
    assert as_json(read(key=odd)).isascii()
    assert json.loads(as_json(read(key=odd))) == {"key": odd}


def test_the_error_for_an_invalid_duration_names_its_option() -> None:
    wrong = "is none of these two"
    assert refusal(idle_after="soon") == f"INVALID_IDLE_AFTER: idle_after 'soon' {wrong}"
    assert refusal(idle=Idle("soon")) == f"INVALID_IDLE_AFTER: Idle.after 'soon' {wrong}"
    assert refusal(max_ahead=timedelta(days=-1)) == (
        f"INVALID_MAX_AHEAD: max_ahead '-1 day, 0:00:00' {wrong}"
    )
    assert refusal(split_by=SplitBy("a", forget_after="soon")) == (
        f"INVALID_OPTION: SplitBy.forget_after 'soon' {wrong}"
    )


def test_setting_both_idle_after_and_idle_is_refused() -> None:
    assert refusal(idle_after="1 minute", idle=Idle("1 minute")) == (
        "INVALID_OPTION: idle_after and idle are both given, but idle_after is the short form of idle"
    )


@pytest.mark.parametrize("value", ["1 minute", timedelta(minutes=1), {"after": "1 minute"}])
def test_the_idle_option_rejects_other_types(value: object) -> None:
    assert refusal(idle=value).startswith("INVALID_OPTION: idle is ")
    assert "it must be a tidemark.Idle" in refusal(idle=value)


@pytest.mark.parametrize("option", ["on_return", "when_all", "at_join"])
@pytest.mark.parametrize("value", ["HOLD", "", "stop", 1, ["hold"]])
def test_an_idle_object_rejects_unknown_option_values(option: str, value: object) -> None:
    given: dict[str, Any] = {option: value}
    with pytest.raises(TidemarkError) as caught:
        Idle("1 minute", **given)
    assert sentence(caught.value).startswith(f"INVALID_OPTION: {option} is {value!r}")


@pytest.mark.parametrize(
    ("keyword", "now"),
    [
        (
            "expected",
            "split_by=tidemark.SplitBy(..., expected=[...]), or for the names of writers "
            "noted=tidemark.Noted(..., expected=[...])",
        ),
        ("expected_splits", "split_by=tidemark.SplitBy(..., expected=[...])"),
        ("on_return", "idle=tidemark.Idle(..., on_return=...)"),
        ("when_idle", "idle=tidemark.Idle(..., when_all=...)"),
        ("join_idle", "idle=tidemark.Idle(..., at_join=...)"),
        ("only_expected", "noted=tidemark.Noted(..., only_expected=True)"),
    ],
)
def test_the_error_for_a_keyword_of_another_place_names_that_place(keyword: str, now: str) -> None:
    given: dict[str, Any] = {keyword: None}
    with pytest.raises(TidemarkError) as caught:
        with_watermark(cast(DataFrame, object()), "time", "1 minute", **given)
    assert sentence(caught.value) == f"INVALID_OPTION: with_watermark has no keyword {keyword}"
    assert caught.value.fix == f"giving {now}"


@pytest.mark.parametrize("option", [SplitBy, Idle, Noted])
def test_each_field_of_an_option_is_refused_as_a_keyword_with_the_way_to_give_it(
    option: type,
) -> None:
    for one in fields(option):
        given: dict[str, Any] = {one.name: None}
        with pytest.raises(TidemarkError) as caught:
            with_watermark(cast(DataFrame, object()), "time", "1 minute", **given)
        assert caught.value.code == "INVALID_OPTION"
        assert f"tidemark.{option.__name__}(" in caught.value.fix


@pytest.mark.parametrize("noted", [None, False])
def test_a_watermark_without_a_delay_is_refused(noted: Any) -> None:
    with pytest.raises(TidemarkError) as caught:
        with_watermark(cast(DataFrame, object()), "time", noted=noted)
    assert sentence(caught.value) == (
        "INVALID_DELAY: with_watermark has no delay, which may be left out only with noted"
    )
    assert '"10 minutes"' in caught.value.fix


def test_an_unknown_keyword_raises_a_type_error() -> None:
    given: dict[str, Any] = {"idle_afer": "1 minute"}
    with pytest.raises(TypeError, match="unexpected keyword argument 'idle_afer'"):
        with_watermark(cast(DataFrame, object()), "time", "1 minute", **given)


@pytest.mark.parametrize(("by", "expected"), [("a", [("a", "b")]), (["a", "b"], ["a"])])
def test_an_expected_split_needs_one_value_for_each_split_expression(
    by: Any, expected: Any
) -> None:
    with pytest.raises(TidemarkError) as caught:
        SplitBy(by, expected=expected)
    assert sentence(caught.value).startswith("INVALID_SPLITS: The expected split")


def test_expected_splits_given_as_a_string_are_rejected() -> None:
    wrong: Any = "abc"
    with pytest.raises(TidemarkError) as caught:
        SplitBy("device", expected=wrong)
    assert sentence(caught.value) == (
        "INVALID_SPLITS: SplitBy.expected is of type str, but it must be a list"
    )


@pytest.mark.parametrize("expected", [[0, 1, 2], range(3), (n for n in range(3))])
def test_expected_splits_from_any_iterable_can_be_read_twice(expected: Iterable[int]) -> None:
    split_by = SplitBy("device", expected=expected)
    assert read(split_by=split_by) == read(split_by=split_by)
    assert read(split_by=split_by) == {"expectedSplits": [["0"], ["1"], ["2"]]}


def test_the_list_of_expected_splits_can_be_empty() -> None:
    assert read(split_by=SplitBy("device", expected=[])) == {"expectedSplits": []}


@pytest.mark.parametrize(
    ("split_by", "said"),
    [([], "empty list"), ((), "empty list"), (3, "of type int"), ([None], "None"),
     ([SplitBy("a")], "of type SplitBy")],
)  # fmt: skip
def test_split_by_accepts_only_column_names_and_columns(split_by: Any, said: str) -> None:
    for make in (as_split_by, SplitBy):
        with pytest.raises(TidemarkError, match=said) as caught:
            make(split_by)
        assert caught.value.code == "INVALID_SPLITS"


def test_an_input_without_split_by_has_no_splits() -> None:
    assert as_split_by(None) is None
    assert split_columns(cast(DataFrame, object()), None) == []


def test_split_by_and_idle_objects_are_immutable() -> None:
    names = ["site", "line"]
    split_by, idle = SplitBy(names), Idle("1 minute")
    names.append("other")
    assert split_by.by == ("site", "line")
    with pytest.raises(FrozenInstanceError):
        split_by.by = "other"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        idle.after = "2 minutes"  # type: ignore[misc]


def test_equal_idle_objects_have_equal_hashes() -> None:
    assert Idle("1 minute") == Idle(after="1 minute")
    assert len({Idle("1 minute"), Idle("1 minute"), Idle("2 minutes")}) == 2
