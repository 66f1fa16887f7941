"""The README examples run, print the output shown, and have no fault by `explain`. So does the report of the first one.

Every block marked `python` is run, in order, in one namespace. A block marked `text` is the output
of the block before it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.pages import ROOT, blocks
from support.streams import warnings

REPORT = ROOT / "docs" / "why.md"
PAGES = {
    "README.md": [ROOT / "README.md", REPORT],
    "python/tidemark/README.md": [ROOT / "python" / "tidemark" / "README.md"],
}

ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def plain(text: str) -> str:
    """The text without IDs that differ between runs, and without empty lines around it."""
    return ID.sub("<id>", text).strip()


@pytest.mark.parametrize("pages", PAGES.values(), ids=PAGES)
def test_readme_examples_run_and_print_the_output_shown(
    spark: SparkSession,
    pages: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    found = [block for page in pages for block in blocks(page, "python", "text")]
    assert found and found[0].kind == "python", f"{pages[0]} shows no example"
    before = set(spark.streams.active)
    printed = ""
    try:
        for block in found:
            if block.kind == "python":
                capsys.readouterr()
                exec(compile(block.text, f"{pages[0].name} example", "exec"), names)
                printed = capsys.readouterr().out
            else:
                assert plain(printed) == plain(block.text)
        streams = [df for df in names.values() if isinstance(df, DataFrame) and df.isStreaming]
        assert streams
        assert [found for df in streams for found in warnings(df)] == []
    finally:
        for query in set(spark.streams.active) - before:
            query.stop()


def test_the_readme_shows_a_table_and_the_page_on_reports_a_report() -> None:
    readme, report = (
        [block.kind for block in blocks(page, "python", "text")] for page in PAGES["README.md"]
    )
    assert readme == ["python", "text"]
    # The sentence alone, and then all of it with what it shows.
    assert report == ["python", "python", "text"]


def test_the_readme_quotes_the_report() -> None:
    readme, report = (" ".join(page.read_text().split()) for page in PAGES["README.md"])
    quotes = re.findall(r'payments: "(The first window [^"]+)"', readme)
    assert len(quotes) == 1
    assert quotes[0] in report
