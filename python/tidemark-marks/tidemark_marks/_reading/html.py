"""Tables for a notebook: without script, and every name in them is escaped and cut."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

from tidemark_marks._printing import printable
from tidemark_marks._protocol.times import shown

MOST_ROWS = 50
MOST_CHARACTERS = 60


class AsTable:
    """A value that a notebook shows as a table of two columns: what `_shown` returns."""

    def _shown(self) -> Mapping[str, object]:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return table((), self._shown().items())


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str = "", note: str = ""
) -> str:
    """An HTML table of at most 50 rows; more are counted.

    Args:
        columns: The heads of the columns; none for a table without a head.
        rows: The cells of each row.
        caption: What stands above the table.
        note: What stands below it.
    """
    every = list(rows)
    head = "".join(f'<th style="text-align:left">{_cell(name)}</th>' for name in columns)
    lines = [
        "<tr>"
        + "".join(f'<td style="text-align:left">{_cell(cell)}</td>' for cell in row)
        + "</tr>"
        for row in every[:MOST_ROWS]
    ]
    more = len(every) - MOST_ROWS
    notes = [note] * bool(note) + [f"and {more:,} more"] * (more > 0)
    return (
        "<div>"
        + (f"<p>{_cell(caption, most=1000)}</p>" if caption else "")
        + "<table>"
        + (f"<thead><tr>{head}</tr></thead>" if head else "")
        + f"<tbody>{''.join(lines)}</tbody></table>"
        + "".join(f"<p>{_cell(text, most=1000)}</p>" for text in notes)
        + "</div>"
    )


def time_or_none(millis: int | None) -> str | None:
    """A time for people; None where none is known."""
    return None if millis is None else shown(millis)


def _cell(value: object, most: int = MOST_CHARACTERS) -> str:
    text = "-" if value is None else printable(str(value))
    return html.escape(text if len(text) <= most else text[: most - 1] + "…")
