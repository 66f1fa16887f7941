"""The table: what each way took, and what the service and the query have seen of it."""

from __future__ import annotations

from collections.abc import Mapping

from common.table import render

from .flights import Counted
from .runs import Outcome

HEADINGS = (
    "asked by", "rows", "time", "rows/s", "calls", "refused", "in flight", "of one", "failed", "lost", "windows",
)  # fmt: skip
CAPTION = """
calls      that the service got; those of them above its limit were refused (429)
in flight  the most calls at one time, and the most of them for one aircraft
failed     how often the query ended with an error; it was started again twice
lost       rows that are in no window in the end
windows    of a count above it, with the watermark below it. Where Spark refused that, it has run with the watermark
           between the two"""


def table(outcomes: Mapping[str, Outcome], truths: Mapping[str, Counted]) -> str:
    """A line for each way."""
    lines = [_line(name, outcome, truths[name]) for name, outcome in outcomes.items()]
    return f"{render(HEADINGS, lines)}\n{CAPTION}"


def lost(outcome: Outcome, truth: Counted) -> int:
    """Rows that are in no window."""
    return sum(max(0, count - outcome.windows.get(key, 0)) for key, count in truth.items())


def _line(name: str, outcome: Outcome, truth: Counted) -> list[str]:
    counts, rows = outcome.counts, sum(truth.values())
    missing = lost(outcome, truth)
    return [
        name,
        f"{rows:,}",
        f"{outcome.seconds:.1f} s",
        f"{(rows - missing) / outcome.seconds:,.0f}",
        f"{counts.calls:,}",
        f"{counts.refused:,}",
        f"{counts.most_in_flight:,}",
        f"{counts.most_of_an_aircraft:,}",
        f"{len(outcome.failures)} times" if outcome.failures else "no",
        f"{missing:,}",
        _windows(outcome),
    ]


def _windows(outcome: Outcome) -> str:
    if outcome.is_refused:
        return "refused"
    return "emitted" if outcome.windows else "none"
