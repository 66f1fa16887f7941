"""`explain` finds an error in just those queries of the corpus that are refused, and what a case names.

It runs none of them.
"""

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
from corpus.side_by_side import JOINS, OTHERS, REPORTS, REPORTS_OF_ONE, WINDOWS, version

pytestmark = [pytest.mark.more, pytest.mark.classic]


@pytest.mark.parametrize("subject", [*WINDOWS, *JOINS, *OTHERS, *REPORTS, *REPORTS_OF_ONE])
def test_explain_has_an_error_for_the_refused_queries_alone_and_what_a_case_names(
    subject: str, spark: SparkSession, tmp_path: Path
) -> None:
    wrong = {}
    for case in CASES:
        if case.subject == subject and version(pyspark.__version__) >= version(case.since):
            found = findings(case, spark, tmp_path / case.name)
            errors = [code for code, severity in found.items() if severity == "error"]
            # A query that is refused after a change can still start.
            is_refused = case.refused and not case.differs and not case.later
            if bool(errors) != bool(is_refused):
                wrong[case.name] = errors
            if not found.keys() >= set(case.finds):
                wrong[case.name] = list(found)
    assert wrong == {}


def findings(case: Case, spark: SparkSession, folder: Path) -> dict[str, str]:
    """The codes and how bad each is."""
    feeds = [Feed(spark, folder / name, schema) for name, schema in case.inputs.schemas.items()]
    with with_settings(spark, case.conf):
        try:
            df = case.here(*(feed.stream(**case.options) for feed in feeds))
        except PySparkException as error:
            return {str(error.getCondition()): "error"}
        explained = tidemark.explain(df, output_mode=cast(Any, case.mode))
    return {finding.code: finding.severity for finding in explained.findings}
