"""What a report says of an input whose clocks are its writers' marks. Every field may be absent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidemark._queries.report.times import duration, instant

_Node = dict[str, Any]


def counts(origin: _Node, splits: _Node) -> Iterator[str]:
    """How many writers there are, the time window, and how old what is known of the log is."""
    noted = origin["noted"]
    ended = noted.get("ended") or 0
    kinds = {
        "active": splits.get("active"),
        "idle": (splits.get("idle") or 0) - ended,
        "catching up": splits.get("catching_up"),
        "ended": ended,
        "without a time yet": splits.get("without_clock"),
    }
    total = splits.get("total") or 0
    if total == 0:
        yield "no writer has noted yet"
        return
    shown = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if (count or 0) > 0)
    yield f"noted by {total} writer{'' if total == 1 else 's'}{f': {shown}' if shown else ''}"
    yield _window(noted)
    if noted.get("log_read_ms") is not None:
        yield f"log read {instant(noted['log_read_ms'])}"


def _window(noted: _Node) -> str:
    lower, upper = noted.get("lower_ms"), noted.get("upper_ms")
    if lower is None and upper is None:
        return "no time window yet"
    if lower is None:
        return f"time window up to {instant(upper)}"
    if upper is None:
        return (
            f"time window from {instant(lower)}, without an end: a writer has noted nothing later"
        )
    return f"time window {instant(lower)} to {instant(upper)}"


def standing(origin: _Node, writer: _Node) -> Iterator[str]:
    """How far a writer is, on the line that names it."""
    clock = writer.get("clock_ms")
    yield (
        "nothing noted yet"
        if clock is None
        else f"noted {instant(clock + (origin.get('delay_ms') or 0))}"
    )
    if writer.get("has_ended"):
        yield "ended"


def marks(writer: _Node) -> Iterator[str]:
    """What its next mark waits for, and what its last one was: a line for each."""
    ahead = writer.get("next") or {}
    if ahead.get("is_broken"):
        yield "marks before its next one are missing"
    elif ahead.get("is_damaged"):
        yield "its newest lines cannot be read"
    elif ahead.get("waits_for"):
        at, read = ahead.get("at"), ahead.get("read")
        place = ahead["waits_for"] + (f" at {at}" if at is not None else "")
        why = f", {ahead['why']}" if ahead.get("why") else ""
        yield (
            f"next mark waits for {place}" + (f" (read: {read})" if read is not None else "") + why
        )
    elif ahead.get("time_ms") is not None:
        yield f"next mark notes {instant(ahead['time_ms'])}"
    if ahead.get("far_ahead_ms") is not None:
        yield f"it has noted {instant(ahead['far_ahead_ms'])}, too far ahead to be believed"
    if writer.get("holds_since_ms") is not None:
        yield f"no later time passed since {instant(writer['holds_since_ms'])}"
    last = writer.get("mark") or {}
    if last:
        yield f"last mark: number {last.get('number')} in life {last.get('epoch')}"
    if last.get("last_news_ms") is not None:
        yield f"last mark with news written {instant(last['last_news_ms'])}"


def problems(noted: _Node) -> Iterator[str]:
    """Rows that broke a promise, and lines of the log that cannot be used."""
    broken = noted.get("promises_broken") or {}
    rows = broken.get("rows")
    if rows:
        were = f"{rows} row{' was' if rows == 1 else 's were'} late by what writers had noted"
        yield f"promises broken: {were}, by at most {duration(broken.get('most_ms') or 0)}"
    skipped = noted.get("skipped_lines") or {}
    if skipped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in skipped.items())
        yield f"lines of the mark log that cannot be used: {reasons}"
