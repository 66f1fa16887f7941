"""Another extension beside Tidemark's: neither disturbs the other, whichever comes first."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.other_extension import COMPILER, other_extension
from support.processes import run_script

pytestmark = [
    pytest.mark.engine,
    pytest.mark.more,
    pytest.mark.skipif(not COMPILER, reason="needs a Java compiler"),
]

PLACES = [
    "check",
    "columnar",
    "optimizer",
    "parser",
    "post-hoc",
    "pre-CBO",
    "resolution",
    "strategy",
]


@pytest.mark.parametrize("place", ["first", "last"])
def test_queries_beside_another_extension_have_stock_sparks_rows(
    tmp_path: Path, place: str
) -> None:
    classes = other_extension(tmp_path / "classes")
    found = run_script("other_extension.py", str(tmp_path), classes, place)
    assert found["ok"] and found["is_managed"]
    assert found["used"] == PLACES
    assert found["tidemark"] == found["stock"]
    assert all(len("".join(rows)) > 100 for rows in found["stock"].values())
    assert sum(step.count("(") for step in found["in_order"]) > 5
