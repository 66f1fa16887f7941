"""What has to come out, by the three rules alone: no Spark here."""

from __future__ import annotations

from typing import Literal, NamedTuple

from .steps import BACK_IN, DELAY, INPUTS, PAUSE, SILENCE, STEPS, WINDOW, Input, arrives, window_of

Rule = Literal["min", "max", "idle"]


class Figures(NamedTuple):
    """What does not depend on how fast the machine is."""

    windows_out: int
    """Of the forty, how many are out when the forty steps are over."""
    lost_after_pause: int
    """Rows of the pause that were lost."""
    lost_after_silence: int
    """Rows of the silence that were lost."""


def expected(rule: Rule) -> Figures:
    """The figures of a rule.

    Before each step all that was read earlier has had its effect: what is late is late by
    the watermark of all steps before.
    """
    return Figures(
        windows_out=len(_ended(rule, range(STEPS), STEPS)),
        lost_after_pause=_rows(_ended(rule, PAUSE, PAUSE.stop)),
        lost_after_silence=_rows(_ended(rule, SILENCE, BACK_IN)),
    )


def _ended(rule: Rule, windows: range, before: int) -> list[int]:
    """Those of the windows that have ended before a step."""
    watermark = _watermark(rule, before)
    return [step for step in windows if window_of(step) + WINDOW <= watermark]


def _rows(steps: list[int]) -> int:
    return sum(len(arrives("live", step)) for step in steps)


def _watermark(rule: Rule, before: int) -> int:
    newest = {source: _newest(source, before) for source in INPUTS}
    # The pause is too short to be a silence; the silence is long enough.
    if rule == "idle" and before > SILENCE.start:
        return newest["live"] - DELAY
    return (max if rule == "max" else min)(newest.values()) - DELAY


def _newest(source: Input, before: int) -> int:
    return max(second for step in range(before) for second in arrives(source, step))
