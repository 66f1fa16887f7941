"""What people have reported of one input gives the rows of stock Spark, or better ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from corpus.cases import Case
from corpus.side_by_side import REPORTS_OF_ONE, cases, compare

pytestmark = [pytest.mark.classic, pytest.mark.usefixtures("one_partition")]


@cases(REPORTS_OF_ONE)
def test_a_query_matches_stock_spark_or_differs_as_documented(
    case: Case, spark: SparkSession, tmp_path: Path
) -> None:
    compare(case, spark, tmp_path)
