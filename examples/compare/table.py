"""The tables, and what they advise."""

from __future__ import annotations

import math
from collections.abc import Mapping

from common.engines import NAMES
from common.table import render

from .cases import Case
from .figures import Figures

HEADINGS = ("", "rows lost", "median wait", "longest wait", "peak state", "lost next day")
CAPTION = """\
rows lost      of the measured hours, against a count in plain Python
wait           from the end of an hour to the time of day when it was emitted, by steps of 30 minutes
peak state     rows in the state of all operators, the most after any batch; of a join no rule says it
lost next day  by the rule alone: the same delays on 2013-11-02, when the link is down for four hours"""

Found = Mapping[str, Figures]
"""By the name of the way."""


def table(case: Case, found: Found) -> str:
    """A case's title and table."""
    return (
        f"{case.title}\n\n{render(HEADINGS, [[name, *cells(case, found[name])] for name in found])}"
    )


def cells(case: Case, figures: Figures) -> list[str]:
    """The figures as the table shows them."""
    return [
        f"{figures.lost} of {sum(case.today.counts.values())}",
        _minutes(figures.median),
        _minutes(figures.longest),
        "-" if figures.peak_state is None else f"{figures.peak_state}",
        f"{figures.lost_next_day} of {sum(case.next_day.counts.values())}",
    ]


def advice(found: Found) -> list[str]:
    """Whether stock Spark is enough, by the figures: a sentence each."""
    right = {name: figures for name, figures in found.items() if figures.is_right}
    stock = {name: figures for name, figures in right.items() if not _is_tidemark(name)}
    ours = [figures for name, figures in right.items() if _is_tidemark(name)]
    if not ours:
        return [f"{_NOT_NEEDED}: with the same delay it loses the same rows as stock Spark."]
    best = min(ours, key=_rank)
    for name, figures in stock.items():
        if _is_as_good(figures, best):
            return [f'{_NOT_NEEDED}: "{name}" loses nothing on either day, and waits no longer.']
    return [
        f'"{name}" {_says(figures)}; Tidemark\'s is {_minutes(best.median)}.'
        for name, figures in stock.items()
    ]


_NOT_NEEDED = "You do not need Tidemark for this"


def _says(figures: Figures) -> str:
    loses = "loses nothing on either day"
    if figures.lost_next_day:
        loses = (
            f"is enough if no lag is longer, and loses {figures.lost_next_day} rows the next day"
        )
    return f"{loses}. Its median wait is {_minutes(figures.median)}"


def in_both(first: Found, other: Found) -> str:
    """The ways that are right in two cases, with their median waits."""
    names = [name for name in first if first[name].is_right and other[name].is_right]
    medians = (f'"{name}" ({_of_both(first[name], other[name])})' for name in names)
    return f"A query that has to take both inputs is right by {', '.join(medians)}."


def _is_tidemark(name: str) -> bool:
    return name.startswith(NAMES["tidemark"])


def _of_both(first: Figures, other: Figures) -> str:
    return f"{_minutes(first.median)} and {_minutes(other.median)}"


def _is_as_good(figures: Figures, best: Figures) -> bool:
    waits_no_longer = figures.median <= best.median and figures.longest <= best.longest
    return figures.lost_next_day <= best.lost_next_day and waits_no_longer


def _rank(figures: Figures) -> tuple[float, ...]:
    return figures.lost_next_day, figures.median, figures.longest


def _minutes(value: float) -> str:
    return "never" if value == math.inf else f"{value:g} min"
