"""The table: what an input costs when state is small, and when it is large."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from common.engines import NAMES, Engine
from common.table import render

from .outcome import Outcome

HEADINGS = (
    "groups in state",
    *(f"{name}, {of}" for of in ("ms", "CPU ms") for name in NAMES.values()),
)
STEPS = 5
"""Lines of the table."""


def table(outcomes: Mapping[Engine, Outcome]) -> str:
    """Medians of an input, for each fifth of the month: all its triggers, and the CPU time of its tasks."""
    both = [outcomes[engine] for engine in NAMES]
    # The first input starts the query, and the last one emits the window.
    inputs = len(both[0].millis) - 2
    lines = []
    for step in range(STEPS):
        part = slice(1 + inputs * step // STEPS, 1 + inputs * (step + 1) // STEPS)
        state = both[0].state[part]
        figures = [outcome.millis for outcome in both] + [outcome.cpu_millis for outcome in both]
        medians = (statistics.median(figure[part]) for figure in figures)
        lines.append([f"{state[0]:,} to {state[-1]:,}", *(f"{median:,.0f}" for median in medians)])
    emitting = [outcome.millis[-1] for outcome in both] + [
        outcome.cpu_millis[-1] for outcome in both
    ]
    lines.append(["the input that ends the window", *(f"{figure:,.0f}" for figure in emitting)])
    batches = [f"{sum(outcome.batches):,}" for outcome in both]
    lines.append([f"batches for {inputs + 2} inputs", *batches, "", ""])
    return render(HEADINGS, lines)
