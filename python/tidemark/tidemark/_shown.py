"""What people read: a prompt shows what `print` does, and a notebook a page or the same text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from tidemark_marks.shared import printable

_WIDTH = 100
_LONGEST_NAME = 60


class InWords:
    """What people read: a cell of a notebook and a prompt show it as `print` does."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return in_words(str(self))


def in_words(text: str) -> str:
    """A text as HTML, where there is no drawing."""
    return f"<pre>{html.escape(text)}</pre>"


def within_a_page(svg: str) -> str:
    """A drawing as a part of a page, whose colours it takes: those of a file do not suit a dark one.

    Args:
        svg: A file, which has colours of its own.
    """
    return re.sub(r'^(<svg\b[^>]*?) style="[^"]*"', r"\1", svg)


def reason(why: Mapping[str, Any] | None) -> Iterator[str]:
    """The lines that say why nothing comes out, and what a user can do."""
    if why and why.get("sentence"):
        yield from _lines(why["sentence"])
        if why.get("fix"):
            yield from _lines(f"Fix this by {why['fix']}.")


def name_of(what: object) -> str:
    """What users have called something, `printable`, and cut where it is long, as the engine cuts it.

    Example:
        >>> print(name_of("x" * 61) == "x" * 60 + "...")
        True
    """
    text = ""
    for character in str(what):
        if len(text) >= _LONGEST_NAME:
            return f"{text}..."
        text += printable(character)
    return text


def _lines(text: str) -> list[str]:
    return [
        printable(line)
        for line in wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    ]
