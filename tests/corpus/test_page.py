"""The page about queries from other sources; `test_*.py` beside it run the queries themselves."""

from __future__ import annotations

from corpus import CASES
from corpus.page import KINDS, PAGE, split, written


def test_the_corpus_page_lists_every_case() -> None:
    assert {case.kind for case in CASES} == set(KINDS)
    assert split(PAGE.read_text(encoding="utf-8"))[1] == written()
