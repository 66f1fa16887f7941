"""The options of a watermark: the JSON for the engine, and the values that Python refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame
from support.raising import raising

from tidemark import Idle, SplitBy, TidemarkError, with_watermark
from tidemark._watermark.options import Options, as_json, read_options
from tidemark._watermark.split_by import as_split_by, split_columns


def read(**given: Any) -> Options:
    return read_options(**given)


def refusal(what: Callable[[], object]) -> tuple[str, str | None]:
    """The code of the error that a call raises, and the option that it is about."""
    with pytest.raises(TidemarkError) as caught:
        what()
    return caught.value.code, caught.value.parameters.get("option")


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
            "idleAfter": "1 minute",
            "expectedSplits": [["a"], ["1"], [None]],
            "forgetAfter": "1 day",
            "onReturn": "catch_up",
            "whenAll": "advance",
            "maxAhead": "1 day",
            "atJoin": "follow",
        }
    )


def test_idle_after_equals_an_idle_object_with_the_same_duration() -> None:
    assert read(idle_after="1 minute") == read(idle=Idle("1 minute")) == {"idleAfter": "1 minute"}


def test_the_value_none_is_sent_to_the_engine_explicitly() -> None:
    options = read(idle_after="none", max_ahead="none")
    assert json.loads(as_json(options)) == {"idleAfter": "none", "maxAhead": "none"}
    assert read(idle=Idle("none")) == {"idleAfter": "none"}


def test_the_options_json_is_ascii_for_any_key() -> None:
    odd = 'ö"\\\n\u2028`'
    assert as_json(read(key=odd)).isascii()
    assert json.loads(as_json(read(key=odd))) == {"key": odd}


def test_a_length_of_a_wrong_type_is_refused_by_its_option() -> None:
    for option, given in (
        ("idle_after", {"idle_after": 60}),
        ("idle_after", {"idle": Idle("")}),
        ("max_ahead", {"max_ahead": timedelta(days=-1)}),
        ("forget_after", {"split_by": SplitBy("a", forget_after=" ")}),
    ):
        assert refusal(lambda given=given: read(**given)) == ("INVALID_OPTION", option)


def test_setting_both_idle_after_and_idle_is_refused() -> None:
    both = refusal(lambda: read(idle_after="1 minute", idle=Idle("1 minute")))
    assert both == ("INVALID_OPTION", "idle_after")


@pytest.mark.parametrize("value", ["1 minute", timedelta(minutes=1), {"after": "1 minute"}])
def test_the_idle_option_rejects_other_types(value: object) -> None:
    assert refusal(lambda: read(idle=value)) == ("INVALID_OPTION", "idle")


@pytest.mark.parametrize("option", ["on_return", "when_all", "at_join"])
@pytest.mark.parametrize("value", ["HOLD", "", "stop", 1, ["hold"]])
def test_an_idle_object_rejects_unknown_option_values(option: str, value: object) -> None:
    given: dict[str, Any] = {option: value}
    assert refusal(lambda: Idle("1 minute", **given)) == ("INVALID_OPTION", option)


@pytest.mark.parametrize("noted", [None, False])
def test_a_watermark_without_a_delay_is_refused(noted: Any) -> None:
    nothing = cast(DataFrame, object())
    with pytest.raises(TidemarkError) as caught:
        with_watermark(nothing, "time", noted=noted)
    assert caught.value.code == "INVALID_DELAY"
    assert caught.value.parameters == {"value": "None", "reason": "is left out"}


@pytest.mark.parametrize(("by", "expected"), [("a", [("a", "b")]), (["a", "b"], ["a"])])
def test_an_expected_split_needs_one_value_for_each_split_expression(
    by: Any, expected: Any
) -> None:
    assert refusal(lambda: SplitBy(by, expected=expected))[0] == "INVALID_SPLITS"


def test_expected_splits_given_as_a_string_are_rejected() -> None:
    wrong: Any = "abc"
    with pytest.raises(TidemarkError) as caught:
        SplitBy("device", expected=wrong)
    assert (caught.value.code, caught.value.parameters["type"]) == ("INVALID_SPLITS", "str")


@pytest.mark.parametrize("expected", [[0, 1, 2], range(3), (n for n in range(3))])
def test_expected_splits_from_any_iterable_can_be_read_twice(expected: Iterable[int]) -> None:
    split_by = SplitBy("device", expected=expected)
    assert read(split_by=split_by) == read(split_by=split_by)
    assert read(split_by=split_by) == {"expectedSplits": [["0"], ["1"], ["2"]]}


def test_the_list_of_expected_splits_can_be_empty() -> None:
    assert read(split_by=SplitBy("device", expected=[])) == {"expectedSplits": []}


@pytest.mark.parametrize(
    ("split_by", "parameters"),
    [([], {}), ((), {}), (3, {"type": "int"}), ([None], {"type": "NoneType"}),
     ([SplitBy("a")], {"type": "SplitBy"})],
)  # fmt: skip
def test_split_by_accepts_only_column_names_and_columns(split_by: Any, parameters: Any) -> None:
    for make in (as_split_by, SplitBy):
        with raising("INVALID_SPLITS", **parameters):
            make(split_by)


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
