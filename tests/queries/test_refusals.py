"""Queries that the engine refuses at their start, and the error codes that Python sees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import Stepper, refusal, run_once

from common.settings import with_settings
from tidemark import report, with_watermark

SCHEMA = "id LONG, time TIMESTAMP"


@pytest.fixture
def inputs(feed: Callable[..., Feed]) -> tuple[Feed, Feed]:
    left = feed("left", SCHEMA)
    right = feed("right", "rid LONG, rtime TIMESTAMP, sent TIMESTAMP")
    left.add({"id": 1, "time": "10:00"})
    right.add({"rid": 1, "rtime": "10:00", "sent": "10:00"})
    return left, right


def marked(feed: Feed, column: str, key: str | None) -> DataFrame:
    return with_watermark(feed.stream(), column, "1 minute", key=key)


def started(df: DataFrame, folder: Path) -> tuple[str | None, str]:
    return refusal(lambda: run_once(df, folder / "checkpoint"))


def test_one_key_on_two_columns_is_refused(inputs: tuple[Feed, Feed], tmp_path: Path) -> None:
    left, right = inputs
    joined = marked(left, "time", "k").join(
        marked(right, "rtime", "k"), F.expr("id = rid AND rtime >= time")
    )
    code, text = started(joined, tmp_path)
    assert code == "DUPLICATE_KEY"
    assert "'k'" in text and "time, rtime" in text


def test_one_key_on_two_inputs_with_the_same_column_name_is_refused(
    inputs: tuple[Feed, Feed], tmp_path: Path
) -> None:
    left, right = inputs
    other = with_watermark(
        right.stream().withColumnRenamed("rtime", "time"), "time", "2 minutes", key="k"
    )
    times = marked(left, "time", "k").select("time").union(other.select("time"))
    code, text = started(times, tmp_path)
    assert code == "DUPLICATE_KEY"
    assert "'k'" in text and "2 watermarks" in text and "'time'" in text


def test_one_input_can_be_used_twice_with_the_same_key(
    inputs: tuple[Feed, Feed], tmp_path: Path
) -> None:
    # Spark Connect may analyze a DataFrame again at each use; writing it twice has the same effect.
    def marked_again() -> DataFrame:
        return with_watermark(inputs[0].stream(), "time", "1 minute", key="k", split_by="id")

    marked_once = marked_again()
    assert run_once(marked_once.select("id").union(marked_once.select("id")), tmp_path / "one") == [
        (1,),
        (1,),
    ]
    both = marked_again().select("id").union(marked_again().select("id"))
    assert run_once(both, tmp_path / "both") == [(1,), (1,)]


def test_a_union_with_event_time_in_different_positions_is_refused(
    inputs: tuple[Feed, Feed], tmp_path: Path
) -> None:
    left, right = inputs
    pairs = [
        marked(left, "time", None).select("time", F.col("time").cast("string").alias("other")),
        marked(right, "rtime", None).select(F.col("sent"), F.col("rtime")),
    ]
    first = pairs[0].select("time", F.current_timestamp().alias("other"))
    code, text = started(first.union(pairs[1]), tmp_path)
    assert code == "UNION_WATERMARK_POSITION"
    assert "'time'" in text and "'rtime'" in text


def test_a_key_in_a_query_left_to_stock_spark_is_refused(
    spark: SparkSession, inputs: tuple[Feed, Feed], tmp_path: Path
) -> None:
    with with_settings(spark, {"spark.sql.streaming.multipleWatermarkPolicy": "max"}):
        code, text = started(marked(inputs[0], "time", "k"), tmp_path)
    assert code == "LEFT_TO_SPARK"
    assert "multipleWatermarkPolicy" in text


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.sql.streaming.multipleWatermarkPolicy", "max"),
        ("spark.sql.streaming.statefulOperator.allowMultiple", "false"),
    ],
)
def test_a_query_left_to_stock_spark_runs_and_its_report_gives_the_reason(
    spark: SparkSession, inputs: tuple[Feed, Feed], run: Callable[..., object],
    setting: str, value: str,
) -> None:  # fmt: skip
    with with_settings(spark, {setting: value}):
        stepper = run(marked(inputs[0], "time", None))
        assert len(stepper.step()) == 1  # type: ignore[attr-defined]
        shown = report(stepper.query)  # type: ignore[attr-defined]
    assert shown.to_dict()["engine"] == "spark"
    assert f"left to Spark ({setting}={value})" in str(shown)


def test_the_report_names_union_inputs_without_event_time(
    inputs: tuple[Feed, Feed], run: Callable[..., Stepper]
) -> None:
    left, right = inputs
    timed = marked(left, "time", "l").select("time")
    stepper = run(timed.union(right.stream().select("sent")))
    assert len(stepper.step()) == 2
    shown = report(stepper.query)
    assert [hint["code"] for hint in shown.to_dict()["hints"]] == ["UNION_INPUT_LEFT_OUT"]
    assert shown.to_dict()["plan"]["inputs_without_event_time"] == [1]
    assert "UNION_INPUT_LEFT_OUT: " in str(shown)
    assert "input 1 has no event time and is left out" in str(shown)


def test_an_unbounded_join_side_is_reported_or_refused(
    spark: SparkSession, inputs: tuple[Feed, Feed], run: Callable[..., object], tmp_path: Path
) -> None:
    left, right = inputs
    joined = marked(left, "time", "l").join(
        marked(right, "rtime", "r"), F.expr("id = rid AND rtime >= time")
    )
    stepper = run(joined)
    assert len(stepper.step()) == 1  # type: ignore[attr-defined]
    hints = report(stepper.query).to_dict()["hints"]  # type: ignore[attr-defined]
    assert {hint["code"] for hint in hints} == {"UNBOUNDED_JOIN_SIDE"}

    with with_settings(spark, {"spark.tidemark.unboundedJoin": "refuse"}):
        code, _ = refusal(lambda: run_once(joined, tmp_path / "refused"))
    assert code == "UNBOUNDED_JOIN_SIDE"


def test_an_invalid_setting_value_is_refused(
    spark: SparkSession, inputs: tuple[Feed, Feed], tmp_path: Path
) -> None:
    with with_settings(spark, {"spark.tidemark.enabled": "perhaps"}):
        code, text = refusal(lambda: run_once(marked(inputs[0], "time", None), tmp_path / "cp"))
    assert code == "INVALID_SETTING"
    assert "spark.tidemark.enabled" in text and "'perhaps'" in text
