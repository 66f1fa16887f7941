"""The documents: every code is explained, every code explained is raised, and links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

# A refusal is made as TidemarkError("CODE", ...); the doctor may name a code in a finding as well.
CODE = re.compile(r'(?:TidemarkError|Finding)\([^()]*?"([A-Z]+(?:_[A-Z]+)+)"')


def codes(folder: str, suffix: str) -> set[str]:
    files = (ROOT / folder).rglob(f"*{suffix}")
    return {code for file in files for code in CODE.findall(file.read_text(encoding="utf-8"))}


def explained() -> set[str]:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    return set(re.findall(r"^### ([A-Z_]+)$", text, flags=re.MULTILINE))


def test_every_code_python_raises_is_explained() -> None:
    raised = codes("python/tidemark", ".py")
    assert len(raised) > 5
    assert raised - explained() == set()


def test_every_code_explained_is_raised_somewhere() -> None:
    assert explained() - codes("python/tidemark", ".py") - codes("jvm/src/main", ".scala") == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{target} leads nowhere"
        if anchor:
            assert anchor in anchors(found), f"{target}: there is no such heading"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made where Markdown is shown."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one).strip().lower().replace(" ", "-") for one in headings}
