"""The page about queries from other sources; `test_*.py` beside it run the queries themselves."""

from __future__ import annotations

import re

from corpus import CASES
from corpus.page import KINDS, PAGE, split, written

STOCK = PAGE.parents[2] / "docs" / "stock.md"


def test_the_corpus_page_lists_every_case() -> None:
    assert {case.kind for case in CASES} == set(KINDS)
    assert split(PAGE.read_text(encoding="utf-8"))[1] == written()


def test_the_documentation_says_how_many_queries_were_tried_and_how_many_differ() -> None:
    text = " ".join(STOCK.read_text(encoding="utf-8").split())
    reports = sum(case.source == "report" for case in CASES)
    differ = sum(bool(case.differs) for case in CASES)
    tried = re.search(r"(\d+) queries, of which (\d+) are from public reports", text)
    differing = re.search(r"(\d+) of them differ on purpose, and \[each says why\]\(", text)
    assert tried and differing
    assert [int(number) for number in (*tried.groups(), differing[1])] == [
        len(CASES),
        reports,
        differ,
    ]
