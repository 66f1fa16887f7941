"""From what a query gave out and said of its batches to the figures: pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from .rules import Figures
from .steps import DELAY, PAUSE, ROWS, SILENCE, STEPS, WINDOW, Input, step_of, window_of


class Given(NamedTuple):
    """One line that came out: so many rows of this input in the window that begins then."""

    batch: int
    window: int
    source: Input
    rows: int


class Batch(NamedTuple):
    """When a batch ran, in seconds since 1970, and the newest event time that it saw."""

    number: int
    began: float
    ended: float
    newest: float | None


def batches_of(progress: Iterable[dict[str, Any]]) -> list[Batch]:
    """The batches in a query's progress; between batches Spark tells its progress, too."""
    return [_batch(batch) for batch in progress if "addBatch" in batch["durationMs"]]


def windows_out(given: Iterable[Given]) -> int:
    """How many windows of the live input are out, whole."""
    return sum(line.source == "live" and line.rows == ROWS for line in given)


def figures(out_in_time: int, counted: Iterable[tuple[int, Input, int]]) -> Figures:
    """The figures of a replay.

    Args:
        out_in_time: windows that were out when the forty steps were over.
        counted: window, input and rows of all that came out or is still in the state.
    """
    quiet: Counter[int] = Counter()
    for window, source, count in counted:
        if source == "quiet":
            quiet[step_of(window)] += count
    return Figures(
        out_in_time,
        lost_after_pause=sum(ROWS - quiet[step] for step in PAUSE),
        lost_after_silence=sum(ROWS - quiet[step] for step in SILENCE),
    )


def held(given: Iterable[Given], batches: Sequence[Batch]) -> list[float]:
    """How long each window of the forty was held back, in their order.

    A window could be out when a batch had ended that saw the live input far enough ahead; it
    was out with the batch that gave it out, from that one's beginning on.
    """
    out = {line.window: line.batch for line in given if line.source == "live"}
    began = {batch.number: batch.began for batch in batches}
    waits = []
    for window in (window_of(step) for step in range(STEPS)):
        if window in out:
            needed = window + WINDOW + DELAY
            could = min(b.ended for b in batches if b.newest is not None and b.newest >= needed)
            waits.append(max(0.0, began[out[window]] - could))
    return waits


def longest_batch(batches: Sequence[Batch]) -> float:
    """In seconds, of those from the silence on: a query's first ones take far longer than any later."""
    silent = window_of(SILENCE.start)
    first = min(b.number for b in batches if b.newest is not None and b.newest >= silent)
    return max(batch.ended - batch.began for batch in batches if batch.number >= first)


def _batch(progress: dict[str, Any]) -> Batch:
    began = _seconds(progress["timestamp"])
    newest = progress["eventTime"].get("max")
    took = progress["durationMs"]["triggerExecution"] / 1000
    return Batch(progress["batchId"], began, began + took, newest and _seconds(newest))


def _seconds(text: str) -> float:
    """A time as Spark's progress writes it: UTC, with a Z that Python 3.10 does not read."""
    time = datetime.fromisoformat(text.removesuffix("Z"))
    return time.replace(tzinfo=timezone.utc).timestamp()
