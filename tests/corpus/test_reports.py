"""What people have reported of joins, restarts and several inputs gives the rows of stock Spark, or better ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from corpus.cases import Case
from corpus.side_by_side import REPORTS, cases, compare

pytestmark = [pytest.mark.classic, pytest.mark.usefixtures("one_partition")]


@cases(REPORTS)
def test_a_query_matches_stock_spark_or_differs_as_documented(
    case: Case, spark: SparkSession, tmp_path: Path
) -> None:
    compare(case, spark, tmp_path)
