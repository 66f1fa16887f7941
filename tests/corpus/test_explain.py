"""`explain` finds an error in just those queries of the corpus that are refused, and runs none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.feeds import Feed

import tidemark
from common.settings import with_settings
from corpus.cases import CASES, Case
from corpus.side_by_side import JOINS, OTHERS, REPORTS, WINDOWS, version

pytestmark = [pytest.mark.more, pytest.mark.classic]


@pytest.mark.parametrize("kind", [*WINDOWS, *JOINS, *OTHERS, *REPORTS])
def test_explain_has_an_error_for_the_refused_queries_alone(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    wrong = {}
    for case in CASES:
        if case.kind == kind and version(pyspark.__version__) >= version(case.since):
            found = errors(case, spark, tmp_path / case.name)
            if bool(found) != bool(case.refused and not case.differs):
                wrong[case.name] = found
    assert wrong == {}


def errors(case: Case, spark: SparkSession, folder: Path) -> list[str]:
    feeds = [Feed(spark, folder / name, schema) for name, schema in case.inputs.schemas.items()]
    with with_settings(spark, case.conf):
        try:
            df = case.here(*(feed.stream(**case.options) for feed in feeds))
        except PySparkException as error:
            return [str(error.getCondition())]
        explained = tidemark.explain(df, output_mode=cast(Any, case.mode))
    return [str(finding) for finding in explained.findings if finding.severity == "error"]
