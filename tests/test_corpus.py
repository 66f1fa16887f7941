"""Queries that nobody here wrote give the same rows in the same batches as by stock Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from corpus import CASES, Case
from corpus.page import KINDS, PAGE, split, written
from corpus.side_by_side import outcome
from pyspark.sql import SparkSession
from support.streams import stock


@pytest.fixture(scope="module")
def without_generated_code(spark: SparkSession) -> Iterator[None]:
    """Compiling each of so many small queries would take longer than running them."""
    key = "spark.sql.codegen.wholeStage"
    spark.conf.set(key, "false")
    yield
    spark.conf.unset(key)


def marked(case: Case) -> object:
    return pytest.param(case, id=case.name, marks=[] if case.quick else [pytest.mark.more])


@pytest.mark.classic
@pytest.mark.usefixtures("one_partition", "without_generated_code")
@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_a_query_runs_as_by_stock_or_differs_as_it_says(
    case: Case, spark: SparkSession, tmp_path: Path
) -> None:
    if version(pyspark.__version__) < version(case.since):
        pytest.skip(f"needs Spark {case.since}")
    with stock(spark):
        expected = outcome(case, spark, tmp_path / "stock")
    found = outcome(case, spark, tmp_path / "tidemark")
    if case.refused:
        assert case.refused in expected.refused
    else:
        assert not expected.refused
        assert expected.batches, "nothing has come out"
    if not case.differs:
        assert found == expected
        return
    assert not found.refused
    assert (found.rows == expected.rows) == case.same_rows
    assert found.batches != expected.batches, "it no longer differs"


def test_the_page_tells_of_each_case() -> None:
    assert {case.kind for case in CASES} == set(KINDS)
    assert split(PAGE.read_text(encoding="utf-8"))[1] == written()


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])
