"""Spark Connect: the same calls and the same results, without direct access to a JVM."""

from __future__ import annotations

from typing import Any

import pyspark
import pytest
from support.feeds import millis
from support.processes import run_script

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = str(tmp_path_factory.mktemp("connect"))
    # With SPARK_TESTING the server takes a free port instead of 15002.
    return run_script("connect.py", folder, SPARK_TESTING="1")


def test_the_doctor_finds_no_problems_in_a_spark_connect_session(found: dict[str, Any]) -> None:
    assert found["session"].startswith("pyspark.sql.connect")
    assert found["problems"] == ""


def test_invalid_arguments_raise_the_same_error_codes_on_spark_connect(
    found: dict[str, Any],
) -> None:
    assert found["codes"] == [
        "UNKNOWN_COLUMN", "NESTED_COLUMN", "COLUMN_NOT_TIMESTAMP", "INVALID_DELAY",
        "INVALID_DELAY", None, None,
    ]  # fmt: skip


def test_a_watermark_key_does_not_appear_in_the_schema_on_spark_connect(
    found: dict[str, Any],
) -> None:
    assert found["metadata"] == [{"spark.watermarkDelayMs": 60_000}] * 2


def test_a_slow_input_does_not_hold_back_a_fast_input_on_spark_connect(
    found: dict[str, Any],
) -> None:
    hours = [["fast", "2024-01-01 06:00:00", 1], ["fast", "2024-01-01 07:00:00", 1]]
    assert found["keyed"] == [[], hours[:1], hours]
    assert found["keyed inputs"] == ["fast", "slow"]
    assert "withWatermark [slow]" in found["keyed report"]
    assert found["keyed late"] == [["aggregation", 0], ["aggregation", 0]]


def test_a_report_and_a_plot_are_drawn_on_spark_connect(found: dict[str, Any]) -> None:
    assert found["page"].startswith("<div")
    assert "Event time over processing time" in found["page"]
    assert found["watched"]
    assert found["plot"]["keys"] == ["fast", "slow"]
    assert found["plot"]["svg"].startswith("<svg")


def test_sparks_own_with_watermark_uses_the_column_name_as_key_on_spark_connect(
    found: dict[str, Any],
) -> None:
    assert found["plain"] == found["keyed"][-1]
    assert found["plain inputs"] == ["fast_time", "slow_time"]


def test_a_dataframe_is_explained_on_spark_connect(found: dict[str, Any]) -> None:
    assert sorted(waits for _, waits in found["explained"]) == [["fast"], ["slow"]]
    assert found["explained findings"] == ["FAR_FUTURE", "LAST_WINDOW_STAYS"]


def test_a_query_notes_its_time_on_spark_connect(found: dict[str, Any]) -> None:
    assert found["noted"] == millis("08:29")


@pytest.mark.skipif(
    pyspark.__version__.startswith("4.0."), reason="Spark 4.0 has no Declarative Pipelines"
)
def test_the_function_of_a_pipelines_flow_needs_no_analysis(found: dict[str, Any]) -> None:
    assert found["flow"] == {"spark.watermarkDelayMs": 60_000}
    assert found["flow refuses"] == ["INVALID_OPTION timeout", "INVALID_OPTION returns"]


def test_a_mark_log_is_a_table_on_spark_connect(found: dict[str, Any]) -> None:
    assert found["marks"] == [["alive", None], ["note", '{"number":1}']]


def test_a_batch_has_its_time_window_on_spark_connect(found: dict[str, Any]) -> None:
    # The query before has noted 11:59, but that is taken in when this batch ends.
    assert found["window"] == [["2024-01-01 08:29:00", None]]


def test_windows_behind_asynchronous_calls_are_emitted_on_spark_connect(
    found: dict[str, Any],
) -> None:
    # Three hours of the feed, and one row at noon, whose window is still open.
    assert found["called"] == [[f"2024-01-01 {6 + n:02}:00:00", 2 * n] for n in range(3)]
