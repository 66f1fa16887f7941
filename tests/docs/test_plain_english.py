"""The documentation can be read in one pass: no sentence of its prose is longer than 30 words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_WORDS = 30

OTHERS = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
    *("python/tidemark/README.md", "python/tidemark-marks/README.md"),
    "tests/corpus/README.md",
)
PAGES = sorted([*(ROOT / name for name in OTHERS), *(ROOT / "docs").rglob("*.md")])

_NO_PROSE = re.compile(r"<!--.*?-->|^```.*?^```|^~~~.*?^~~~", re.DOTALL | re.MULTILINE)
_TABLE_OR_HEADING = re.compile(r"^\s*(\||#|!\[|:?-{3,})")
_LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_END = re.compile(r"[.!?][\"')*_\]]*(?:\s+|$)(?=[\"'(*_\[]*[A-Z0-9`]|$)")
_SHORT_FORM = re.compile(r"\b(e\.g|i\.e|vs|etc)\.")


def paragraphs(text: str) -> list[str]:
    """The prose of a page, without code, tables, headings or comments; each list item is separate."""
    found: list[str] = []
    begins = True
    for line in _NO_PROSE.sub("\n", text).splitlines():
        is_code = begins and line.startswith("    ")
        if not line.strip() or _TABLE_OR_HEADING.match(line) or is_code:
            begins = True
        elif begins or _LIST_ITEM.match(line):
            found.append(_LIST_ITEM.sub("", line))
            begins = False
        else:
            found[-1] += " " + line.strip()
    return found


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; a link counts as its text, and code as one word."""
    plain = re.sub(r"\]\([^)]*\)", "]", paragraph)
    plain = re.sub(r"``.+?``|`[^`]*`", "`code`", plain)
    plain = _SHORT_FORM.sub(r"\1", plain)
    return [sentence for sentence in _END.split(plain) if sentence.strip()]


def words(sentence: str) -> int:
    return len([word for word in sentence.split() if re.search(r"\w", word)])


def too_long(text: str) -> list[str]:
    every = (sentence for paragraph in paragraphs(text) for sentence in sentences(paragraph))
    return [
        f"{words(sentence)} words: {sentence}" for sentence in every if words(sentence) > MOST_WORDS
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_is_longer_than_30_words(page: Path) -> None:
    found = too_long(page.read_text(encoding="utf-8"))
    assert not found, "\n".join(found)


def test_long_sentences_are_found_in_paragraphs_and_lists() -> None:
    long = " ".join(["word"] * 31)
    assert len(too_long(f"Short one. {long}.\n\n- {long}\n- short\n")) == 2


def test_code_tables_headings_and_link_targets_do_not_count_as_prose() -> None:
    long = " ".join(["word"] * 31)
    page = f"# {long}\n\n| {long} |\n\n```\n{long}\n```\n\n    {long}\n\n<!-- {long} -->\n`{long}` too.\n"
    assert too_long(page) == []
    assert words(sentences("[a link](https://example.org/a b c) to it")[0]) == 4


def test_sentences_are_split_at_their_final_punctuation() -> None:
    assert len(sentences("One (of two). `code` is two! Then (three.) Four at 1.5 e.g. here.")) == 4
