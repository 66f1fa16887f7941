"""What a prompt and a cell of a notebook show, where there is no drawing."""

from __future__ import annotations

import pytest

from tidemark._shown import InWords, name_of
from tidemark.results import Diagnosis, Explanation, Finding, Plot

SCRIPT = "<script>alert(1)</script>"
HOSTILE = f"{SCRIPT}\x00\u202e\x1b[2J"
HISTORY = {"batch": [1], "time_ms": [0], "inputs": [{"key": HOSTILE, "watermark_ms": [0]}]}

SHOWN: list[InWords | Plot] = [
    Diagnosis((Finding("settings", ok=True, found=HOSTILE),)),
    Explanation(SCRIPT, (), ()),
    Plot({"history": HISTORY}, "<svg/>"),
]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: type(shown).__name__)
def test_a_prompt_shows_what_print_does_and_nothing_that_moves_its_cursor(
    shown: InWords | Plot,
) -> None:
    assert repr(shown) == str(shown)
    assert SCRIPT in str(shown)
    assert not any(character in str(shown) for character in "\x00\u202e\x1b")


@pytest.mark.parametrize("shown", SHOWN[:2], ids=lambda shown: type(shown).__name__)
def test_a_cell_without_a_drawing_shows_the_text_and_no_markup_of_its_names(
    shown: InWords,
) -> None:
    page = shown._repr_html_()
    assert page.startswith("<pre>")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_plot_in_words_cuts_long_names() -> None:
    keys = ["x" * 10_000, "x" * 10_000 + "y"]
    plot = Plot(
        {"history": {**HISTORY, "inputs": [{**HISTORY["inputs"][0], "key": key} for key in keys]}},
        "<svg/>",
    )
    one = "x" * 60 + "... 1970-01-01T00:00:00Z"
    assert str(plot) == f"1 batch, last watermarks: {one}, {one}"
    assert {row["key"] for row in plot.data} == set(keys)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 60 + "..."),
        ("\x1b" * 16, r"\x1b" * 15 + "..."),
        ("orders\n", r"orders\n"),
        ('a "b"\\', 'a "b"\\'),
    ],
)
def test_a_name_of_what_users_have_called_something_is_short_and_printable(
    name: object, text: str
) -> None:
    assert name_of(name) == text
