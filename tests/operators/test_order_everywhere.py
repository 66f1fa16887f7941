"""Rows come in order of event time wherever somebody looks at them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.inversions import INPUTS, PLACES, count
from support.processes import run_script

from common.settings import with_settings

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
ROWS = 3000


@pytest.mark.more
@pytest.mark.parametrize("place", PLACES)
def test_no_row_comes_behind_a_later_one_of_its_device(spark: SparkSession, place: str) -> None:
    settings = {"spark.sql.streaming.stateStore.providerClass": ROCKSDB}
    with with_settings(spark, settings):
        stock = 0
        for drawn in (INPUTS[3], INPUTS[6]):
            stock += count(spark, drawn, PLACES[place], ROWS, ordered=False)[0]
            behind, rows = count(spark, drawn, PLACES[place], ROWS, ordered=True)
            assert (behind, rows > 0) == (0, True), drawn.name
    assert stock > 0


@pytest.mark.kafka
def test_no_row_is_written_to_kafka_behind_a_later_one_of_its_device(tmp_path: Path) -> None:
    found = run_script("order_kafka.py", str(tmp_path), str(ROWS))
    assert found["stock"][0] > 0
    assert found["in order"] == [0, ROWS]
    assert found["recipe"] == [[device, n] for device in "ab" for n in (1, 3, 4, 5, 8, 30)]
