"""Rows come in order of event time wherever somebody looks at them."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from support.inversions import INPUTS, PLACES, count

from common.settings import with_settings

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
ROWS = 3000


@pytest.mark.more
@pytest.mark.parametrize("place", PLACES)
def test_no_row_comes_behind_a_later_one_of_its_device(spark: SparkSession, place: str) -> None:
    settings = {"spark.sql.streaming.stateStore.providerClass": ROCKSDB}
    with with_settings(spark, settings):
        stock = 0
        for one in (INPUTS[3], INPUTS[6]):
            stock += count(spark, one, place, ROWS, ordered=False)[0]
            behind, rows = count(spark, one, place, ROWS, ordered=True)
            assert (behind, rows > 0) == (0, True), one.name
    assert stock > 0
