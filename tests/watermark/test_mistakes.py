"""Common mistakes: each error has a code, one sentence that describes the problem, and a fix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import IllegalArgumentException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.raising import raising
from support.streams import Stepper, refusal, run_once

import tidemark
from common.settings import with_settings
from tidemark import TidemarkError, with_watermark
from tidemark._bridge import is_connect

SCHEMA = "id LONG, time TIMESTAMP"
Feeds = Callable[..., Feed]
Run = Callable[..., Stepper]


@pytest.fixture
def events(feed: Feeds) -> DataFrame:
    return feed("events", f"{SCHEMA}, kinds ARRAY<STRING>, seen STRUCT<at: TIMESTAMP>").stream()


def refused(
    df: DataFrame, column: Any = "time", delay: Any = "1 minute", **options: Any
) -> TidemarkError:
    with pytest.raises(TidemarkError) as caught:
        with_watermark(df, column, delay, **options)
    return caught.value


def test_with_watermark_accepts_a_column_object_for_a_plain_column(events: DataFrame) -> None:
    odd = events.withColumn("event.time", F.col("time"))
    for column in (F.col("time"), odd["time"], F.col("`event.time`"), odd["`event.time`"]):
        df = with_watermark(odd, column, "1 minute")
        (marked,) = (f.name for f in df.schema.fields if "spark.watermarkDelayMs" in f.metadata)
        assert marked in str(column)


def test_with_watermark_refuses_column_expressions_and_other_types(events: DataFrame) -> None:
    for column in (
        F.col("time") + F.expr("INTERVAL 1 HOUR"),
        F.col("time").alias("t"),
        F.lit("time"),
    ):
        assert refused(events, column).code == "UNKNOWN_COLUMN"
    assert refused(events, F.col("seen.at")).code == "NESTED_COLUMN"
    for what, kind in ((None, "NoneType"), (5, "int"), (["time"], "list")):
        error = refused(events, what)
        assert (error.code, error.parameters["type"]) == ("UNKNOWN_COLUMN", kind)


@pytest.mark.parametrize(("delay", "kind"), [(10, "int"), (True, "bool")])
def test_a_delay_of_the_wrong_type_is_refused(events: DataFrame, delay: object, kind: str) -> None:
    error = refused(events, delay=delay)
    assert (error.code, error.parameters["value"]) == ("INVALID_DELAY", str(delay))
    assert kind in error.parameters["reason"]


@pytest.mark.parametrize("key", [5, "", "  ", ["orders"], F])
def test_a_key_that_is_not_a_name_is_refused(events: DataFrame, key: object) -> None:
    error = refused(events, key=key)
    assert (error.code, error.parameters["option"]) == ("INVALID_OPTION", "key")


def test_a_split_without_exactly_one_value_per_row_is_refused(events: DataFrame) -> None:
    for split in (F.explode("kinds"), F.count("*"), F.explode("kinds").cast("string")):
        split_by = split
        with raising("INVALID_SPLITS"):
            _ = with_watermark(events, "time", "1 minute", split_by=split_by).schema


def test_report_and_late_rows_refuse_an_object_that_is_not_a_query(spark: SparkSession) -> None:
    for other in (None, "orders", 7):
        with raising("NOT_A_QUERY"):
            tidemark.report(cast(Any, other))
        with pytest.raises(TidemarkError):
            tidemark.late_rows(cast(Any, other), spark=spark)


@pytest.mark.parametrize("place", ["", " ", "no:such:place", "nosuchscheme://x/y", None, 7])
def test_the_log_refuses_an_unreadable_location(spark: SparkSession, place: Any) -> None:
    code, text = refusal(lambda: tidemark.watermark_log(place))
    assert code == "NO_LOG", text
    assert text.startswith("[TIDEMARK.NO_LOG] ")


def test_the_log_accepts_a_location_with_special_characters(
    tmp_path: Path, spark: SparkSession
) -> None:
    for name in ("it's", 'a "b"', "back\\slash", "\N{SNOWMAN}"):
        with with_settings(spark, {"spark.sql.parser.escapedStringLiterals": "true"}):
            _, text = refusal(lambda: tidemark.watermark_log(tmp_path / name))  # noqa: B023
            assert f"{tmp_path}/{name}" in text


def test_engine_refusals_are_pyspark_errors_that_start_with_the_reason(
    events: DataFrame, tmp_path: Path, spark: SparkSession
) -> None:
    refusals: list[Callable[[], object]] = [
        lambda: events.select(tidemark.is_late("time")).columns,
        lambda: tidemark.watermark_log(tmp_path).columns,
        lambda: spark.sql("SELECT tidemark_event_time(now(), '{\"colour\": 1}')").columns,
    ]
    for action in refusals:
        with pytest.raises(PySparkException) as caught:
            action()
        assert isinstance(caught.value, IllegalArgumentException)
        lines = str(caught.value).splitlines()
        assert lines[0].startswith("[TIDEMARK.")
        assert "Fix this by " in lines[0]
        # A Spark Connect server appends part of its stack trace to every error, Spark's own included.
        assert len(lines) < 5 or is_connect(spark)


def test_engine_refusals_have_readable_error_parameters(
    events: DataFrame, feed: Feeds, tmp_path: Path, spark: SparkSession
) -> None:
    def parameters(action: Callable[[], object]) -> dict[str, str]:
        with pytest.raises(PySparkException) as caught:
            action()
        assert tidemark.errors.error_code(caught.value) is not None
        return tidemark.errors.error_parameters(caught.value)

    missing = parameters(lambda: events.select(tidemark.is_late("time")).columns)
    assert missing == {"expression": "is_late(time)", "columns": ""}
    feeds = [feed(name, SCHEMA) for name in ("first", "second")]
    for source in feeds:
        source.add({"id": 1, "time": "10:00"})
    a, b = (with_watermark(feed.stream(), "time", "1 minute", key="k") for feed in feeds)
    failed = parameters(lambda: run_once(a.union(b), tmp_path / "checkpoint"))
    # Spark Connect sends only the text of the error that ended a query.
    assert failed == ({} if is_connect(spark) else {"key": "k", "columns": "time, time"})
    assert parameters(lambda: spark.sql("SELECT * FROM tidemark_log('')").columns).keys() == {
        "checkpoint",
        "reason",
    }


def test_a_python_refusal_has_error_parameters(events: DataFrame) -> None:
    with pytest.raises(TidemarkError) as caught:
        with_watermark(events, "tme", "1 minute")
    assert caught.value.parameters == {"column": "tme"}
    assert tidemark.errors.error_parameters(caught.value) == {"column": "tme"}


@pytest.mark.classic
def test_an_unknown_split_column_is_refused_without_spark_error_output(
    events: DataFrame, capfd: pytest.CaptureFixture[str]
) -> None:
    for column in ("kids", "a.b.c"):
        error = refused(events, split_by=column)
        assert (error.code, error.parameters["column"]) == ("UNKNOWN_COLUMN", column)
    written = capfd.readouterr()
    assert "UNRESOLVED_COLUMN" not in written.out + written.err


def test_the_error_for_a_numeric_column_suggests_timestamp_functions_instead_of_a_cast(
    events: DataFrame,
) -> None:
    error = refused(events, "id")
    assert (error.code, error.parameters["dataType"]) == ("COLUMN_NOT_TIMESTAMP", "bigint")
    # A cast would read any number as seconds.
    assert 'F.timestamp_millis(F.col("`id`"))' in error.fix and "cast" not in error.fix


def test_a_misspelled_setting_is_refused_with_the_nearest_setting_name(
    feed: Feeds, tmp_path: Path, spark: SparkSession
) -> None:
    other = feed("other", SCHEMA)
    other.add({"id": 1, "time": "10:00"})
    marked = with_watermark(other.stream(), "time", "1 minute")
    with with_settings(spark, {"spark.tidemark.idelAfter": "1 minute"}):
        code, text = refusal(lambda: run_once(marked, tmp_path / "checkpoint"))
        (problem,) = tidemark.doctor(spark).problems
    assert code == "UNKNOWN_SETTING"
    assert "spark.tidemark.idelAfter" in text and "spark.tidemark.idle.after" in text
    assert (problem.check, problem.code) == ("settings", "UNKNOWN_SETTING")
    assert "spark.tidemark.idle.after" in str(problem.fix)


def test_an_invalid_setting_value_is_refused_with_the_allowed_values(
    feed: Feeds, tmp_path: Path, spark: SparkSession
) -> None:
    other = feed("other", SCHEMA)
    other.add({"id": 1, "time": "10:00"})
    marked = with_watermark(other.stream(), "time", "1 minute")
    with with_settings(spark, {"spark.tidemark.idle.after": "soon"}):
        code, text = refusal(lambda: run_once(marked, tmp_path / "checkpoint"))
        (problem,) = tidemark.doctor(spark).problems
    assert code == problem.code == "INVALID_SETTING"
    assert "'soon'" in text and "'soon'" in problem.found


def test_late_row_metrics_coexist_with_user_metrics_named_tidemark(feed: Feeds, run: Run) -> None:
    events = feed("other", SCHEMA)
    marked = with_watermark(events.stream(), "time", "0 seconds")
    seen = marked.observe("tidemark", F.count("*").alias("mine"))
    stepper = run(seen.groupBy(F.window("time", "10 minutes")).count())
    events.add({"id": 1, "time": "12:00"})
    stepper.step()
    events.add({"id": 2, "time": "10:00"}, {"id": 3, "time": "10:01"})
    stepper.step()
    assert stepper.observed("tidemark") == {"mine": 2}
    assert stepper.observed_late("tidemark_late_rows") == {"late_rows": 2, "late_rows_0": 2}
