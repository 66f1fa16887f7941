"""`current_watermark` and `is_late`: columns that show lateness at a point of a query."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import Stepper, refusal

import tidemark
from tidemark import current_watermark, is_late, with_watermark

SCHEMA = "id LONG, time TIMESTAMP"
Feeds = Callable[..., Feed]
Run = Callable[..., Stepper]


def test_is_late_marks_the_rows_that_the_aggregation_drops(feed: Feeds, run: Run) -> None:
    events = feed("events", SCHEMA)
    marked = with_watermark(events.stream(), "time", "0 seconds", key="events")
    # On Spark Connect `withColumn` would drop the event-time mark of the window column.
    windows = marked.select("*", F.window("time", "10 minutes").alias("window"))
    observed = windows.observe(
        "told",
        F.count_if(is_late("window")).alias("dropped"),
        F.count_if(is_late("time")).alias("behind"),
        F.date_format(F.max(current_watermark(key="events")), "HH:mm").alias("at"),
    )
    stepper = run(observed.groupBy("window").count())
    events.add({"id": 1, "time": "12:05"})
    stepper.step()
    # The window of 11:59 is closed; that of 12:01 is open, although the watermark has passed 12:01.
    events.add(*({"id": n, "time": at} for n, at in ((2, "11:59"), (3, "12:01"), (4, "12:07"))))
    stepper.step()
    assert stepper.observed("told") == {"dropped": 1, "behind": 2, "at": "12:05"}
    assert stepper.observed("tidemark")["late_rows"] == 1
    assert [late.rows for late in tidemark.late_rows(stepper.query)] == [1]


def test_the_docs_example_collects_the_rows_that_the_aggregation_drops(
    feed: Feeds, run: Run
) -> None:
    page = Path(__file__).parents[2] / "docs" / "late.md"
    (example,) = re.findall(r"<!-- tested -->\n```python\n(.*?)```", page.read_text(), re.DOTALL)
    events = feed("events", SCHEMA)
    readings = with_watermark(events.stream(), "time", "0 seconds")
    names: dict[str, Any] = {"F": F, "tidemark": tidemark, "readings": readings}
    exec(compile(example, page.name, "exec"), names)
    stepper = run(names["both"].select("count", "id"))
    events.add({"id": 1, "time": "12:05"})
    stepper.step()
    behind = {2: "11:59", 3: "12:01", 4: "10:30", 5: "12:04", 6: "13:30"}
    events.add(*({"id": number, "time": at} for number, at in behind.items()))
    assert stepper.step() == [(3, None), (None, 2), (None, 4)]
    events.add({"id": 7, "time": "12:59"}, {"id": 8, "time": "13:10"}, {"id": 9, "time": "13:40"})
    assert stepper.step() == [(None, 7)]
    assert [late.rows for late in tidemark.late_rows(stepper.query)] == [3]


OPERATORS: dict[str, tuple[str, Callable[[DataFrame], DataFrame], int]] = {
    "window": ("window", lambda df: df.groupBy("window").count(), 2),
    "session": ("session", lambda df: df.groupBy("session", "id").count(), 1),
    "time": ("time", lambda df: df.groupBy("time").count(), 4),
    "keys with the time": ("time", lambda df: df.dropDuplicates(["id", "time"]), 4),
    "keys": ("time", lambda df: df.dropDuplicates(["id"]), 4),
    "within": ("time", lambda df: df.dropDuplicatesWithinWatermark(["id"]), 4),
}


@pytest.mark.usefixtures("one_partition")
@pytest.mark.parametrize("what", list(OPERATORS))
def test_is_late_marks_the_rows_that_each_stateful_operator_drops(
    feed: Feeds, run: Run, what: str
) -> None:
    asked, operator, late = OPERATORS[what]
    events = feed("events", SCHEMA)
    df = with_watermark(events.stream(), "time", "0 seconds")
    if asked == "window":
        df = df.select("*", F.window("time", "1 hour").alias("window"))
    if asked == "session":
        df = df.select("*", F.session_window("time", "10 minutes").alias("session"))
    observed = df.observe("told", F.count_if(is_late(asked)).alias("late"))
    stepper = run(operator(observed))
    events.add({"id": 1, "time": "12:05"})
    stepper.step()
    behind = {2: "11:59", 3: "12:01", 4: "10:30", 5: "12:04", 6: "13:30"}
    events.add(*({"id": number, "time": at} for number, at in behind.items()))
    stepper.step()
    assert stepper.observed("told") == {"late": late}
    assert [late.rows for late in tidemark.late_rows(stepper.query)] == [late]


def test_explain_works_on_a_query_with_is_late(
    feed: Feeds, capsys: pytest.CaptureFixture[str]
) -> None:
    marked = with_watermark(feed("events", SCHEMA).stream(), "time", "0 seconds")
    windows = marked.withColumn("late", is_late("time")).groupBy(F.window("time", "10 minutes"))
    windows.agg(F.count_if("late")).explain()
    assert "is_late" in capsys.readouterr().out


def test_is_late_and_current_watermark_work_in_sql(
    feed: Feeds, run: Run, spark: SparkSession
) -> None:
    events = feed("events", SCHEMA)
    events.stream().withWatermark("time", "0 seconds").createOrReplaceTempView("told")
    read = spark.sql(
        "SELECT id, is_late(time), current_watermark() = current_watermark('time') FROM told"
    )
    stepper = run(read)
    for number in (1, 2):
        events.add({"id": number, "time": "12:00"})
        assert stepper.step() == [(number, False, None)]
    events.add({"id": 3, "time": "12:00"}, {"id": 4, "time": "12:01"})
    assert stepper.step() == [(3, True, True), (4, False, True)]


def columns(df: DataFrame, *selected: Column) -> list[str]:
    # Spark Connect analyzes a query only when its schema or its rows are requested.
    return df.select(*selected).columns


def test_invalid_calls_of_is_late_and_current_watermark_are_refused(
    feed: Feeds, spark: SparkSession
) -> None:
    unmarked = feed("events", SCHEMA).stream()
    for column in (is_late("time"), current_watermark("time"), current_watermark()):
        code, _ = refusal(partial(columns, unmarked, column))
        assert code == "NO_WATERMARK"
    with pytest.raises(AnalysisException, match="takes an event-time column"):
        columns(unmarked, is_late("id"))
    with pytest.raises(TypeError, match="not both"):
        current_watermark("time", key="events")


def test_a_batch_query_has_no_watermark(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(datetime(2024, 3, 1),)], "time TIMESTAMP")
    marked = rows.withWatermark("time", "0 seconds")
    read = marked.select(is_late("time"), current_watermark("time"), current_watermark())
    assert [tuple(row) for row in read.collect()] == [(False, None, None)]
