"""What a prompt and a cell of a notebook show, where there is no drawing."""

from __future__ import annotations

import pytest

from tidemark._queries.report.drawing import InWords
from tidemark.results import Diagnosis, Explanation, Finding, Plot, Report

SCRIPT = "<script>alert(1)</script>"
HOSTILE = f"{SCRIPT}\x00\u202e\x1b[2J"
HISTORY = {"batch": [1], "time_ms": [0], "inputs": [{"key": HOSTILE, "watermark_ms": [0]}]}

SHOWN: list[InWords | Plot] = [
    Report({"query": {"name": HOSTILE}, "engine": "tidemark"}),
    Diagnosis((Finding("settings", ok=True, found=HOSTILE),)),
    Explanation(SCRIPT, (), ()),
    Plot({"history": HISTORY}, None),
]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: type(shown).__name__)
def test_a_prompt_shows_what_print_does_and_nothing_that_moves_its_cursor(
    shown: InWords | Plot,
) -> None:
    assert repr(shown) == str(shown)
    assert SCRIPT in str(shown)
    assert not any(character in str(shown) for character in "\x00\u202e\x1b")


@pytest.mark.parametrize("shown", SHOWN[:3], ids=lambda shown: type(shown).__name__)
def test_a_cell_without_a_drawing_shows_the_text_and_no_markup_of_its_names(
    shown: InWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemark._bridge.running_session", lambda: None)
    page = shown._repr_html_()
    assert page.startswith("<pre>")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_plot_in_words_cuts_long_names() -> None:
    keys = ["x" * 10_000, "x" * 10_000 + "y"]
    plot = Plot(
        {"history": {**HISTORY, "inputs": [{**HISTORY["inputs"][0], "key": key} for key in keys]}},
        None,
    )
    one = "x" * 60 + "... 1970-01-01T00:00:00Z"
    assert str(plot) == f"1 batch, last watermarks: {one}, {one}"
    assert {row["key"] for row in plot.data} == set(keys)
