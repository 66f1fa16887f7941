"""A table as text: columns as wide as what stands in them."""

from __future__ import annotations

from collections.abc import Sequence


def render(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """The table; the first column is flush left, the others are flush right.

    >>> print(render(["engine", "rows lost"], [["stock", "12"], ["Tidemark", "0"]]))
    engine    rows lost
    --------  ---------
    stock            12
    Tidemark          0
    """
    widths = [max(map(len, column)) for column in zip(headings, *lines, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(_line(cells, widths) for cells in (headings, rule, *lines))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([f"{first[0]:{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)])
