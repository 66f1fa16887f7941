"""The one table, as text: pure, from outcomes and the truth about the departures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from common.engines import NAMES, Engine

from .clock import DELAY, DELAY_TEXT
from .held import Departed, Held, could_be_out, is_out, summary
from .notes import PARTS, PartText
from .outcome import Outcome

CAPTION = f"""\
hours out   hours of departure all of whose flights have come out, of those that had any
held back   for each such hour: steps (= hours) from the step in which it could be out to
            the one in which it was. It could be out once the departures' own watermark
            (newest departure less {DELAY_TEXT}) had reached its end
still held  hours that could be out when the replay ended, and were not
peak state  rows in the state of all operators together, the most after any batch
late        rows dropped as late, as Spark counts them
"""

HEADING = f"""\
{"":27}{"":10}{"hours":>9}{"held back":>15}{"still":>8}{"peak":>8}
{"":27}{"":10}{"out":>9}{"median p90 max":>15}{"held":>8}{"state":>8}{"late":>6}{"batches":>9}"""


@dataclass(frozen=True)
class Result:
    """An engine's outcome of one run, with its figures."""

    engine: Engine
    outcome: Outcome
    held: Held


def results(engine: Engine, outcomes: Iterable[Outcome], departed: Departed) -> list[Result]:
    """Measures what came out of an engine's runs against what departed."""
    could = could_be_out(departed, DELAY)
    found = []
    for outcome in outcomes:
        given = ((step, datetime.fromisoformat(hour), n) for step, hour, n in outcome.given)
        out = is_out(given, departed.counts)
        found.append(Result(engine, outcome, summary(out, could, len(departed.counts))))
    return found


def render(found: Sequence[Result]) -> str:
    """The table of all parts, each with a word on why it comes out as it does."""
    parts = (block for part in PARTS for block in _part(part, found))
    return "\n".join([CAPTION, HEADING, *parts])


def _part(part: PartText, found: Sequence[Result]) -> Iterator[str]:
    yield f"\n{part.title}"
    text = ""
    for name, silent, label in part.cases:
        for result in found:
            if (result.outcome.part, result.outcome.silent) == (name, silent):
                yield _line("" if label == text else label, result)
                text = label
    yield from (f"   | {line}" for line in part.why)


def _line(label: str, result: Result) -> str:
    outcome, held = result.outcome, result.held
    start = f"   {label:24}{NAMES[result.engine]:10}"
    if outcome.error:
        written = f"{outcome.batches} batch{'' if outcome.batches == 1 else 'es'}"
        when = f", after {written}" if outcome.batches else ", before the first batch"
        return f"{start}{outcome.error}{when}"
    return (
        f"{start}{f'{held.out} of {held.hours}':>9}"
        f"{_figure(held.median):>7}{_figure(held.p90):>4}{_figure(held.longest):>4}"
        f"{held.still_held:>8}{outcome.peak_state:>8}{outcome.late:>6}{outcome.batches:>9}"
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
