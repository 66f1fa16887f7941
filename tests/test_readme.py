"""The examples of the READMEs run: every block marked `python`, in order, in one namespace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent
PAGES = [page for page in (ROOT / "README.md", ROOT / "python" / "README.md") if page.exists()]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_run(
    spark: SparkSession, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(page)
    assert found, f"{page} shows no example"
    before = set(spark.streams.active)
    try:
        for block in found:
            exec(compile(block, f"{page.name} example", "exec"), names)
    finally:
        for query in set(spark.streams.active) - before:
            query.stop()
