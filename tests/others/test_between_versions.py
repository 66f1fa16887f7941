"""`read_between` with Delta: the rows inserted between two versions, from the change data feed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.feeds import clock, millis
from support.marks import log_at

import tidemark
from common.settings import with_settings
from tidemark import TidemarkError
from tidemark.marks import Cut, DeltaPosition

FEED = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"


@dataclass
class DeltaTable:
    """A table of orders below a path with blanks, and where it is."""

    spark: SparkSession
    path: Path

    def run(self, text: str) -> None:
        self.spark.sql(text.replace("ORDERS", f"delta.`{self.path}`"))

    def add(self, *times: str) -> DeltaPosition:
        """Inserts rows, and returns the version."""
        rows = ", ".join(f"('{time}', TIMESTAMP '{clock(time)}')" for time in times)
        self.run(f"INSERT INTO ORDERS VALUES {rows}")
        return self.position()

    def position(self) -> DeltaPosition:
        detail = self.spark.sql(f"DESCRIBE DETAIL delta.`{self.path}`").collect()[0]
        history = self.spark.sql(f"DESCRIBE HISTORY delta.`{self.path}` LIMIT 1").collect()[0]
        return DeltaPosition(detail["id"], history["version"])

    def between(self, start: Any, end: Any, **more: Any) -> DataFrame:
        options = {"format": "delta", "path": self.path, **more}
        return tidemark.read_between(self.spark, start, end, **options)


@pytest.fixture
def orders(spark: SparkSession, tmp_path: Path) -> DeltaTable:
    table = DeltaTable(spark, tmp_path / "my orders")
    table.run(f"CREATE TABLE ORDERS (id STRING, time TIMESTAMP) USING delta {FEED}")
    return table


def ids(rows: DataFrame) -> list[str]:
    return sorted(row["id"] for row in rows.collect())


def refused(ask: Callable[[], object]) -> TidemarkError:
    with pytest.raises(TidemarkError) as error:
        ask()
    return error.value


def test_adjacent_ranges_of_versions_divide_the_inserted_rows(orders: DeltaTable) -> None:
    orders.add("09:00")
    first = Cut(orders.add("09:30", "10:30"))
    orders.add("10:10")
    orders.run("DELETE FROM ORDERS WHERE id = '09:00'")
    orders.run("UPDATE ORDERS SET time = TIMESTAMP '2024-01-01 09:31:00' WHERE id = '09:30'")
    orders.run("OPTIMIZE ORDERS")
    second = Cut(orders.add("10:20"))
    rows = orders.between(first, second)
    assert rows.columns == ["id", "time"]
    assert ids(rows) == ["10:10", "10:20"]
    assert ids(orders.between(None, first)) == ["09:00", "09:30", "10:30"]
    assert ids(orders.between(second, second)) == []
    assert orders.between(second, second).schema == rows.schema
    orders.add("11:00")
    assert ids(orders.between(first, second)) == ["10:10", "10:20"]


def test_a_range_of_times_has_exactly_its_rows(orders: DeltaTable, tmp_path: Path) -> None:
    marks = log_at(tmp_path / "_tidemark", max_ahead=None)
    with marks.writer("eu") as writer:
        position = orders.add("09:00", "10:20")
        writer.note_time(millis("09:30"), position, max_time=millis("10:20"))
        position = orders.add("09:40", "10:30")
        writer.note_time(millis("10:00"), position, max_time=millis("10:30"))
        writer.note_time(millis("11:00"), orders.add("10:31", "11:00"))
    hours = {"by": "event_time", "marks": marks, "time": "time"}
    assert ids(orders.between(millis("09:00"), millis("10:30"), **hours)) == [
        "09:40", "10:20", "10:30",
    ]  # fmt: skip
    assert ids(orders.between(millis("10:30"), millis("11:00"), **hours)) == ["10:31", "11:00"]


def test_a_table_without_a_change_data_feed_is_refused(orders: DeltaTable) -> None:
    end = Cut(orders.add("09:00"))
    orders.run("ALTER TABLE ORDERS SET TBLPROPERTIES (delta.enableChangeDataFeed = false)")
    error = refused(lambda: orders.between(None, end))
    assert error.code == "CUT_NOT_READABLE" and "change data feed" in error.message


def test_versions_from_before_the_change_data_feed_are_an_error(orders: DeltaTable) -> None:
    orders.run("ALTER TABLE ORDERS SET TBLPROPERTIES (delta.enableChangeDataFeed = false)")
    orders.add("09:00")
    orders.run("ALTER TABLE ORDERS SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    end = Cut(orders.add("10:00"))
    with pytest.raises(Exception, match="DELTA_MISSING_CHANGE_DATA"):
        orders.between(None, end).collect()


def test_versions_that_are_not_there_are_an_error(orders: DeltaTable) -> None:
    first = Cut(orders.add("09:00"))
    end = orders.add("10:00")
    ahead = Cut(DeltaPosition(end.table_id, end.version + 5))
    assert refused(lambda: orders.between(first, ahead)).code == "CUT_EXPIRED"
    other = Cut(DeltaPosition("another", end.version))
    assert refused(lambda: orders.between(None, other)).code == "MARK_POSITION_MISMATCH"
    # Delta keeps a checkpoint, and the versions before it are cleaned up.
    orders.run("ALTER TABLE ORDERS SET TBLPROPERTIES (delta.checkpointInterval = 1)")
    last = Cut(orders.add("11:00"))
    for version in range(2):
        (orders.path / "_delta_log" / f"{version:020}.json").unlink()
    error = refused(lambda: orders.between(None, last))
    assert error.code == "CUT_EXPIRED" and "DELTA_" in error.message


def test_what_would_read_something_else_is_refused(orders: DeltaTable) -> None:
    end = Cut(orders.add("09:00"))
    for options in (
        {"startingVersion": 0}, {"readChangeFeed": "false"}, {"versionAsOf": 1},
        {"ignoreMissingFiles": "true"},
    ):  # fmt: skip
        error = refused(lambda options=options: orders.between(None, end, options=options))
        assert error.code == "INVALID_OPTION"
    with with_settings(orders.spark, {"spark.sql.files.ignoreMissingFiles": "true"}):
        assert refused(lambda: orders.between(None, end)).code == "INVALID_OPTION"
