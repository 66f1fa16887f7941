"""Hundreds of queries that start and stop in one application leave no more behind than stock Spark's do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.processes import run_script

pytestmark = [pytest.mark.engine, pytest.mark.kill, pytest.mark.timeout(900)]

QUERIES = 100
# What Tidemark's tab keeps of queries that have ended.
KEPT = 100


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("many")
    return run_script("many_queries.py", str(folder), str(QUERIES))


def test_the_tab_lists_no_more_queries_than_it_keeps(found: dict[str, Any]) -> None:
    before, after = found["page 120"], found["page"]
    assert before["ended"] == after["ended"] == KEPT
    assert before["json"] == after["json"] == KEPT
    assert abs(after["bytes"] - before["bytes"]) < 0.02 * before["bytes"]


def test_no_object_of_tidemark_is_left_over_from_each_query(found: dict[str, Any]) -> None:
    before, after = found["tidemark 120"]["ours"], found["tidemark"]["ours"]
    grown = {name: count - before.get(name, 0) for name, count in after.items()}
    # What the last few queries leave until a later collection differs: dozens of small objects. A leak has one a query.
    assert {name: more for name, more in grown.items() if more >= 0.9 * QUERIES} == {}


def test_what_is_left_of_a_query_is_what_stock_spark_leaves(found: dict[str, Any]) -> None:
    def grown(last: str, first: str, what: str) -> float:
        return float(found[last][what] - found[first][what]) / QUERIES

    stock_bytes = grown("stock", "stock 120", "used")
    tidemark_bytes = grown("tidemark", "tidemark 120", "used")
    # A collection does not find everything, and stock Spark's heap may shrink: 10 kB a query is noise.
    assert tidemark_bytes < max(stock_bytes, 0) + 10_000
    stock_objects = grown("stock", "stock 120", "objects")
    assert grown("tidemark", "tidemark 120", "objects") < max(stock_objects, 0) + 150
    for name, count in found["tidemark"]["sparks"].items():
        assert count <= found["tidemark 120"]["sparks"][name] + QUERIES / 10, name


def test_no_thread_is_left(found: dict[str, Any]) -> None:
    assert found["tidemark"]["threads"] <= found["tidemark 120"]["threads"] + 3
    assert len(found["tidemark"]["our_threads"]) <= len(found["tidemark 120"]["our_threads"])
