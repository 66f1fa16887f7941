"""The documentation: it explains every error code and no others, and its links resolve."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidemark import __version__

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "tests" / "corpus" / "README.md",
]

# Errors are created as TidemarkError("CODE", ...); the doctor can name a code in a finding as well.
CODE = re.compile(r'(?:TidemarkError|Finding)\([^()]*?"([A-Z]+(?:_[A-Z]+)+)"')


def codes(folder: str, suffix: str) -> set[str]:
    files = (ROOT / folder).rglob(f"*{suffix}")
    return {code for file in files for code in CODE.findall(file.read_text(encoding="utf-8"))}


def explained() -> set[str]:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    return set(re.findall(r"^### ([A-Z_]+)$", text, flags=re.MULTILINE))


def test_the_errors_page_explains_every_code_raised_by_python() -> None:
    raised = codes("python", ".py")
    assert len(raised) > 5
    assert raised - explained() == set()


def test_every_code_on_the_errors_page_is_raised_somewhere() -> None:
    assert explained() - codes("python", ".py") - codes("jvm/src/main", ".scala") == set()


def raised_by_python() -> Iterator[tuple[ast.Call, str, set[str]]]:
    """Every `TidemarkError(...)` of the package, its code, and the names of its parameters."""
    for file in (ROOT / "python").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "TidemarkError":
                code = ast.literal_eval(node.args[0])
                yield (
                    node,
                    code,
                    {keyword.arg for keyword in node.keywords if keyword.arg is not None},
                )


def raised_by_the_engine() -> Iterator[tuple[str, set[str]]]:
    """The code of every case of Scala's `TidemarkError`, and the names of its fields."""
    folder = ROOT / "jvm" / "src" / "main" / "scala" / "io" / "tidemark"
    case = r'case class \w+\(([^)]*)\)(?:\([^)]*\))?\s+extends TidemarkError\(\s*"(\w+)"'
    text = "".join(
        file.read_text(encoding="utf-8") for file in sorted(folder.glob("*Error*.scala"))
    )
    found = re.findall(case, text)
    assert len(found) == text.count("case class ")
    for fields, code in found:
        yield code, set(re.findall(r"(\w+): ", fields))


def test_the_errors_page_lists_the_parameters_of_each_code() -> None:
    raised: dict[str, set[str]] = {}
    for code, names in (
        *((code, names) for _, code, names in raised_by_python()),
        *raised_by_the_engine(),
    ):
        raised[code] = raised.get(code, set()) | names
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    listed: dict[str, set[str]] = {}
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        lines = [line for line in section.splitlines() if line.startswith("**Parameters**: ")]
        listed[section.split("\n")[0]] = {
            name for line in lines for name in re.findall(r"`(\w+)`", line)
        }
    assert {code: names for code, names in raised.items() if names} == {
        code: names for code, names in listed.items() if names
    }


@pytest.mark.parametrize("title", ["The session", "The options of a watermark"])
def test_the_errors_page_says_which_errors_of_a_section_the_engine_raises(title: str) -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
    (sentence,) = re.findall(r"The engine raises (.*?)\.\s", section.split("\n### ")[0], re.DOTALL)
    listed = set(re.findall(r"^### ([A-Z_]+)$", section, flags=re.MULTILINE))
    by_engine = listed & {code for code, _ in raised_by_the_engine()}
    assert set(re.findall(r"`([A-Z_]+)`", sentence)) == by_engine


def test_the_errors_page_says_which_marks_errors_the_engine_raises() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    section = text.split("\n## Marks\n")[1]
    listed = set(re.findall(r"^### ([A-Z_]+)$", section, flags=re.MULTILINE))
    hints = set(re.findall(r"^### ([A-Z_]+)\nThis is only a hint", section, flags=re.MULTILINE))
    by_engine = listed & {code for code, _ in raised_by_the_engine()}
    by_python = listed & {code for _, code, _ in raised_by_python()}
    assert {code for code in listed if code.startswith(("CUT", "MARK"))} - hints == by_python
    both = by_engine & by_python
    assert all(f"`{code}`" in section.split("\n### ")[0] for code in both)
    assert by_engine - both - hints == listed - by_python - hints


def test_python_errors_with_a_formatted_message_have_parameters() -> None:
    calls = list(raised_by_python())
    assert len(calls) > 20
    for call, code, names in calls:
        assert names or not isinstance(call.args[1], ast.JoinedStr), code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_resolve_to_existing_pages_and_headings(page: Path) -> None:
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
    """The anchors of a page's headings, as Markdown renderers create them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


def test_the_changelog_says_what_the_library_does_until_it_is_released() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    if sections == [f"[{__version__}] - Unreleased"]:
        assert len(text.splitlines()) <= 25
    else:
        assert all(re.search(r"\d{4}-\d{2}-\d{2}$", section) for section in sections[1:])
