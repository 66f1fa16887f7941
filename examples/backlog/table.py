"""The table of a backlog: what each engine lost, beside what the rule alone loses."""

from __future__ import annotations

from collections.abc import Sequence

from common.table import render

from .told import Rows, Told

HEADINGS = ("", "rows lost", "", "parts", "the worst", "peak state", "batches", "said late")

CAPTION = """\
rows lost    rows that were read, and neither came out nor are in the state at the end
parts        parts of the input that lost some, and the one that lost the most of its own
peak state   rows in the state, the most after any batch: the price of waiting
said late    what Spark's own progress says was dropped. It counts hours of a part where a
             batch dropped them, however many rows they had"""


def table(outcomes: Sequence[tuple[str, Told]], read: Rows) -> str:
    """The table.

    Args:
        outcomes: what came of it, each with what its line is to be called.
        read: how many rows each part has.
    """
    lines = [[name, *_figures(outcome, read)] for name, outcome in outcomes]
    return "\n".join([render(HEADINGS, lines), "", CAPTION])


def _figures(outcome: Told, read: Rows) -> Sequence[str]:
    lost, all_rows = outcome.lost(read), sum(read.values())
    losers = [split for split in lost if lost[split]]
    worst = max(lost, key=lambda split: lost[split] / read[split])
    return (
        f"{sum(lost.values()):,} of {all_rows:,}",
        _percent(sum(lost.values()), all_rows),
        f"{len(losers)} of {len(read)}",
        f"{worst}: {_percent(lost[worst], read[worst])}" if losers else "-",
        f"{outcome.peak_state:,}",
        f"{outcome.batches}",
        "" if outcome.said_late is None else f"{outcome.said_late:,}",
    )


def _percent(some: int, of: int) -> str:
    return f"{100 * some / of:.1f} %"
