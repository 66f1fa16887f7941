"""The table: what was out in time, how long it was held back, and what was lost."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from common.table import render

from .outcome import Outcome
from .rules import Rule
from .steps import IDLE_TEXT, PAUSE, ROWS, SILENCE, STEPS

NAMES: dict[Rule, str] = {
    "min": "stock, policy min",
    "max": "stock, policy max",
    "idle": f"Tidemark, idle_after {IDLE_TEXT}",
}

HEADINGS = (
    "",
    "windows out",
    "held: median",
    "max",
    "lost: pause",
    "silence",
    "said late",
    "peak state",
)

CAPTION = f"""\
windows out     windows of the {STEPS} steps that are out when the steps are over
held            seconds from when the live input alone would have let a window out to when it
                was out, in the end
lost            rows of the pause and of the silence that the quiet input brought too late:
                rows that were read, and neither came out nor are in the state at the end
said late       stock: what Spark's own progress says was dropped. It counts windows of an
                input where a batch dropped them, however many rows they had. Tidemark: what
                late_rows says, which has to be what was lost
peak state      rows in the state, the most after any batch"""


def table(outcomes: Sequence[Outcome]) -> str:
    """The table."""
    return "\n".join([render(HEADINGS, [_line(outcome) for outcome in outcomes]), "", CAPTION])


def _line(outcome: Outcome) -> Sequence[str]:
    figures, held = outcome.figures, outcome.held or [0.0]
    return (
        NAMES[outcome.rule],
        f"{figures.windows_out} of {STEPS}",
        f"{median(held):.1f}",
        f"{max(held):.1f}",
        f"{figures.lost_after_pause} of {len(PAUSE) * ROWS}",
        f"{figures.lost_after_silence} of {len(SILENCE) * ROWS}",
        f"{outcome.said_late}",
        f"{outcome.peak_state}",
    )
