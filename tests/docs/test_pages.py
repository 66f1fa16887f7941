"""The guides: their code compiles, and the settings, classes and versions they name exist."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from support.pages import GUIDES, ROOT, blocks, name_of

from tidemark import __version__
from tidemark.jars import EXTENSION

README = ROOT / "README.md"
DOCS = ROOT / "docs"
SHOWN = [README, DOCS / "index.md", *GUIDES]
MADE_FOR_THE_SITE = {"changelog.md"}


def navigation() -> list[str]:
    """The pages of the site, by their paths in `docs`."""
    (nav,) = re.findall(r"^nav:\n(.*?)^\S", (ROOT / "mkdocs.yml").read_text(), re.M | re.S)
    return re.findall(r"[\w/.-]+\.md$", nav, re.MULTILINE)


def test_the_site_navigation_lists_every_page_once() -> None:
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(navigation()) == sorted(pages | MADE_FOR_THE_SITE)


def test_the_start_page_links_to_every_page_of_the_site() -> None:
    assert "](docs/index.md)" in README.read_text(encoding="utf-8")
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    # The page on how it works leads to the decisions, and the navigation to the changelog.
    pages = [page for page in navigation() if page != "index.md" and not page.startswith("adr/")]
    assert len(pages) > len(GUIDES)
    left_out = [page for page in pages if page not in MADE_FOR_THE_SITE and f"]({page}" not in text]
    assert left_out == []


@pytest.mark.parametrize("page", SHOWN, ids=name_of)
def test_python_code_on_each_page_compiles(page: Path) -> None:
    for block in blocks(page, "python"):
        compile(block.text, name_of(page), "exec")


@pytest.mark.parametrize("page", SHOWN, ids=name_of)
def test_shell_and_json_blocks_on_each_page_can_be_parsed(page: Path) -> None:
    for block in blocks(page, "bash"):
        subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
    for block in blocks(page, "json"):
        json.loads(block.text)


def test_the_readme_code_compiles_before_and_after_the_change_it_shows() -> None:
    (change,) = blocks(README, "diff")
    for left_out in "+-":
        lines = [line for line in change.text.splitlines() if not line.startswith(left_out)]
        compile("\n".join(line[1:] for line in lines), "README.md", "exec")


@pytest.mark.parametrize("page", SHOWN, ids=name_of)
def test_settings_classes_and_versions_named_on_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    settings = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert [key for key in re.findall(r"spark\.tidemark\.\w+", text) if key not in settings] == []
    assert set(re.findall(r"io\.tidemark\.\w*Extension\w*", text)) <= {EXTENSION}
    versions = re.findall(r"tidemark-(?:spark-\d\.\d_2\.13[-:])?(\d+\.\d+\.\d+)", text)
    assert set(versions) <= {__version__}


def test_the_troubleshooting_guide_quotes_log_lines_of_the_engine() -> None:
    page = (DOCS / "guides" / "troubleshooting.md").read_text(encoding="utf-8")
    table = page.split("| line at WARN |")[1].split("\n## ")[0]
    lines = re.findall(r'^\| "([^"]+)"', table, flags=re.MULTILINE)
    assert len(lines) == 5
    sources = "".join(
        file.read_text(encoding="utf-8")
        for file in (ROOT / "jvm" / "src" / "main").rglob("*.scala")
    )
    assert [line for line in lines if line not in sources] == []


def test_the_kafka_guide_shows_the_example_job() -> None:
    job = (ROOT / "examples" / "kafka_to_table.py").read_text(encoding="utf-8")
    assert job in [block.text for block in blocks(DOCS / "guides" / "kafka-job.md", "python")]


def test_the_rows_lost_picture_shows_the_measured_figures() -> None:
    measured = (DOCS / "real-input.md").read_text(encoding="utf-8")
    picture = (DOCS / "pictures" / "rows-lost.svg").read_text(encoding="utf-8")
    drawn = re.sub(r"<desc.*?</desc>", "", picture, flags=re.DOTALL)
    figures = re.findall(r"\d{1,3}(?:,\d{3})+|\d+\.\d(?=%)|(?<=>)\d+(?=<)", drawn)
    assert len(figures) == 10
    assert [figure for figure in figures if figure not in measured] == []
