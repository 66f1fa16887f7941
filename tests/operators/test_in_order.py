"""Rows in event-time order, from Python."""

from __future__ import annotations

import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.inversions import numbered, transformed
from support.raising import raising

import tidemark
from common.settings import with_settings
from tidemark import TidemarkError

DAY = datetime(2024, 1, 1, tzinfo=timezone.utc)
SCHEMA = "device STRING, time TIMESTAMP, n LONG"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

# Python workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Readings:
    """Readings of five devices in eight files a batch, up to 20 minutes out of order."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self._files = spark, folder / "readings", 0
        self.folder.mkdir()
        self.rows: list[tuple[str, datetime]] = []

    def stream(self) -> DataFrame:
        return self.spark.readStream.schema(SCHEMA).json(str(self.folder))

    def write(self, rows: list[tuple[str, datetime]], files: int = 8) -> None:
        self.rows += rows
        for part in range(files):
            lines = [
                json.dumps({"device": device, "time": time.isoformat(), "n": self._files})
                for device, time in rows[part::files]
            ]
            self._files += 1
            # Spark can list the folder at any time: a file must be there completely, or not at all.
            draft = self.folder / f".{self._files}.draft"
            draft.write_text("\n".join(lines))
            draft.rename(self.folder / f"{self._files}.json")

    def draw(self, batch: int, seed: int, rows: int = 200) -> None:
        chance = random.Random(f"{seed} {batch}")
        self.write(
            [
                (
                    f"d{chance.randrange(5)}",
                    DAY + timedelta(minutes=10 * batch, seconds=chance.randrange(1200)),
                )
                for _ in range(rows)
            ]
        )

    def end(self) -> None:
        """Lets the watermark pass all rows."""
        self.write([("end", DAY + timedelta(days=1))], files=1)
        self.rows.pop()

    def by_device(self) -> dict[str, list[float]]:
        return grouped((device, time.timestamp()) for device, time in self.rows)


def grouped(rows: Any) -> dict[str, list[float]]:
    found = defaultdict(list)
    for device, time in rows:
        found[device].append(time)
    return dict(found)


def run(rows: DataFrame, folder: Path) -> None:
    query = (
        rows.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "out"))
    )
    query.awaitTermination()


@pytest.fixture
def setting(spark: SparkSession) -> Iterator[Callable[[str, str], None]]:
    """Sets a setting until the test has ended."""
    with ExitStack() as until_the_end:
        yield lambda key, value: until_the_end.enter_context(with_settings(spark, {key: value}))


def seen(spark: SparkSession, folder: Path) -> dict[str, list[float]]:
    rows = spark.read.parquet(str(folder / "out")).where("device <> 'end'")
    ordered = rows.orderBy("device", "number").collect()
    return grouped((row["device"], row["seconds"]) for row in ordered)


@pytest.mark.parametrize("shuffled", [pytest.param(False, marks=pytest.mark.more), True])
def test_a_function_with_state_gets_each_devices_rows_by_time_over_batches(
    spark: SparkSession, tmp_path: Path, shuffled: bool
) -> None:
    readings = Readings(spark, tmp_path)
    rows = readings.stream().withWatermark("time", "20 minutes")
    ordered = tidemark.in_order(rows, "time", by="device", then="n")
    # A shuffle behind the order: the groups' rows are put in order again.
    query = numbered(ordered.repartition(3, "n") if shuffled else ordered)
    for batch in range(3):
        readings.draw(batch, seed=1)
        run(query, tmp_path)
    readings.end()
    run(query, tmp_path)
    found = seen(spark, tmp_path)
    assert found == {device: sorted(times) for device, times in readings.by_device().items()}


def test_without_in_order_rows_come_out_of_order(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(spark, tmp_path)
    readings.draw(0, seed=1)
    run(numbered(readings.stream().withWatermark("time", "20 minutes")), tmp_path)
    found = seen(spark, tmp_path)
    assert any(times != sorted(times) for times in found.values())


@pytest.mark.more
def test_each_batch_is_sorted_if_rows_do_not_wait(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(spark, tmp_path)
    readings.draw(0, seed=2)
    ordered = tidemark.in_order(readings.stream(), ["time", "n"], by="device", wait=False)
    run(numbered(ordered), tmp_path)
    found = seen(spark, tmp_path)
    assert found == {device: sorted(times) for device, times in readings.by_device().items()}


def test_the_columns_may_change_while_rows_are_held(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(spark, tmp_path)
    rows = readings.stream().withWatermark("time", "20 minutes")
    ordered = tidemark.in_order(rows, "time", by="device")
    readings.write([("d0", DAY), ("d1", DAY + timedelta(minutes=1))], files=1)
    run(ordered.select("device"), tmp_path)
    readings.end()
    run(ordered.select("device", "n"), tmp_path)
    out = spark.read.option("mergeSchema", True).parquet(str(tmp_path / "out"))
    # The held rows were kept without the column that the query did not read.
    assert sorted((row["device"], row["n"]) for row in out.collect()) == [
        ("d0", None),
        ("d1", None),
    ]


@pytest.mark.more
def test_another_by_is_refused_while_rows_are_held(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(spark, tmp_path)
    rows = readings.stream().withWatermark("time", "20 minutes")
    readings.write([("d0", DAY)], files=1)
    run(tidemark.in_order(rows, "time", by="device"), tmp_path)
    readings.end()
    with raising("ORDER_STATE_CHANGED"):
        run(tidemark.in_order(rows, "time", by="n"), tmp_path)


def test_late_rows_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(spark, tmp_path)
    rows = readings.stream().withWatermark("time", "0 seconds")
    ordered = tidemark.in_order(rows, "time", by="device")
    query = ordered.writeStream.format("memory").queryName("in_order_late").start()
    try:
        readings.write([("d0", DAY + timedelta(hours=1))], files=1)
        query.processAllAvailable()
        readings.write([("d0", DAY), ("d0", DAY + timedelta(hours=2))], files=1)
        query.processAllAvailable()
        (late,) = tidemark.late_rows(query)
        assert (late.operator, late.rows) == ("in order", 1)
        assert spark.table("in_order_late").count() == 2
        assert "in order #0" in str(tidemark.report(query))
    finally:
        query.stop()


def test_the_setting_orders_a_functions_rows_without_a_call(
    spark: SparkSession, tmp_path: Path, setting: Callable[[str, str], None]
) -> None:
    setting("spark.tidemark.requireOrder", "true")
    readings = Readings(spark, tmp_path)
    query = numbered(readings.stream().withWatermark("time", "20 minutes"))
    readings.draw(0, seed=4)
    with raising("ORDER_LOST"):
        run(query, tmp_path / "refused")
    setting("spark.tidemark.order", "event_time")
    run(query, tmp_path)
    readings.draw(1, seed=4)
    run(query, tmp_path)
    readings.end()
    run(query, tmp_path)
    found = seen(spark, tmp_path)
    assert found == {device: sorted(times) for device, times in readings.by_device().items()}


def test_the_report_says_in_what_order_rows_are_read_and_which_wait(
    spark: SparkSession, tmp_path: Path
) -> None:
    readings = Readings(spark, tmp_path)
    rows = readings.stream().withWatermark("time", "20 minutes")
    ordered = tidemark.in_order(rows, "time", by="device", then="n")
    query = numbered(ordered).writeStream.format("memory").queryName("in_order_report").start()
    try:
        readings.write([("d0", DAY + timedelta(minutes=minute)) for minute in (0, 5, 30)], files=1)
        query.processAllAvailable()
        text = str(tidemark.report(query))
        assert "order: each group by time, then n" in text
        assert re.search(
            r"holds 1 row \(\d+ bytes\).*\n.* emitted when the watermark reaches 2024-01-01T00:30:00Z",
            text,
        )
    finally:
        query.stop()


@pytest.mark.more
@pytest.mark.parametrize("order", ["spark", "event_time"])
def test_transform_with_state_gets_each_devices_rows_by_time(
    spark: SparkSession, tmp_path: Path, setting: Callable[[str, str], None], order: str
) -> None:
    setting("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    setting("spark.tidemark.order", order)
    readings = Readings(spark, tmp_path)
    rows = readings.stream().withWatermark("time", "20 minutes")
    # By minutes, so that a shuffle lies between the order and the function.
    ordered = (
        rows if order == "event_time" else tidemark.in_order(rows, "time", by=F.minute("time"))
    )
    query = transformed(ordered)
    for batch in range(2):
        readings.draw(batch, seed=5)
        run(query, tmp_path)
    readings.end()
    run(query, tmp_path)
    found = seen(spark, tmp_path)
    assert found == {device: sorted(times) for device, times in readings.by_device().items()}


@pytest.mark.more
def test_it_works_in_sql(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(spark, tmp_path)
    readings.stream().withWatermark("time", "20 minutes").createOrReplaceTempView("in_order_sql")
    ordered = spark.sql(
        "SELECT * FROM in_order_sql WHERE n >= 0 AND tidemark_in_order(time, '{\"then\": 1}', device, n)"
    )
    readings.draw(0, seed=3)
    readings.end()
    run(numbered(ordered), tmp_path)
    found = seen(spark, tmp_path)
    assert found == {device: sorted(times) for device, times in readings.by_device().items()}


def test_a_batch_data_frame_is_sorted(spark: SparkSession) -> None:
    rows = [(f"d{n % 3}", DAY + timedelta(seconds=(n * 7) % 50)) for n in range(50)]
    df = spark.createDataFrame(rows, "device STRING, time TIMESTAMP")
    times = [row["time"] for row in tidemark.in_order(df, "time").collect()]
    assert times == sorted(times)


def test_a_column_of_another_data_frame_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(spark, tmp_path)
    rows, other = (readings.stream().withWatermark("time", "0 seconds") for _ in range(2))
    assert tidemark.in_order(rows, rows["time"], by=rows["device"]).columns == rows.columns
    with raising("UNKNOWN_COLUMN", column="time"):
        tidemark.in_order(rows, other["time"])


def test_a_column_of_a_join_is_found_by_the_data_frame_that_it_was_taken_from(
    spark: SparkSession,
) -> None:
    later = DAY + timedelta(hours=1)
    left = spark.createDataFrame([(1, DAY), (2, later)], "id INT, time TIMESTAMP")
    right = spark.createDataFrame([(1, later), (2, DAY)], "id INT, time TIMESTAMP")
    both = left.join(right, left["id"] == right["id"])
    for time, ids in ((left["time"], [1, 2]), (right["time"], [2, 1])):
        assert [row[0] for row in tidemark.in_order(both, time).collect()] == ids


def test_mistakes_are_named(spark: SparkSession, tmp_path: Path) -> None:
    rows = Readings(spark, tmp_path).stream().withWatermark("time", "0 seconds")
    for arguments, code in [
        ({"time": "tiem"}, "UNKNOWN_COLUMN"),
        ({"time": "time", "by": "devise"}, "UNKNOWN_COLUMN"),
        ({"time": ["time", "n"]}, "INVALID_OPTION"),
        ({"time": "time", "late": "keep"}, "INVALID_OPTION"),
        ({"time": "time", "wait": "yes"}, "INVALID_OPTION"),
        ({"time": "time", "by": 5}, "INVALID_OPTION"),
        ({"time": []}, "INVALID_OPTION"),
    ]:
        with pytest.raises(TidemarkError) as raised:
            tidemark.in_order(rows, **arguments)
        assert raised.value.code == code
    with raising("INVALID_OPTION", option="by"):
        tidemark.in_order(rows, "time", by=F.window("time", "1 hour"))
    with raising("ORDER_NOT_EVENT_TIME"):
        tidemark.in_order(rows, "n")
    for then in (F.udf(lambda n: -n, "LONG")("n"), F.col("n").desc()):
        with raising("INVALID_ORDER"):
            _ = tidemark.in_order(rows, "time", then=then).schema
