"""What a report says of an input whose clocks are its writers' marks. Every field may be absent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidemark._queries.report.times import duration, instant

_Node = dict[str, Any]


def counts(origin: _Node, splits: _Node) -> str:
    """How many writers there are, and the time window, on one line."""
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
        return "no writer has noted yet"
    shown = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if (count or 0) > 0)
    by = f"noted by {total} writer{'' if total == 1 else 's'}{f': {shown}' if shown else ''}"
    read = noted.get("log_read_ms")
    return f"{by}; {_window(noted)}" + (f"; log read {instant(read)}" if read is not None else "")


def _window(noted: _Node) -> str:
    lower, upper = noted.get("lower_ms"), noted.get("upper_ms")
    if lower is None:
        return "no window yet" if upper is None else f"window up to {instant(upper)}"
    return (
        f"window from {instant(lower)}"
        if upper is None
        else f"window {instant(lower)} .. {instant(upper)}"
    )


def standing(origin: _Node, writer: _Node) -> Iterator[str]:
    """How far a writer is, and what its next mark waits for."""
    clock = writer.get("clock_ms")
    yield (
        "nothing noted yet"
        if clock is None
        else f"noted {instant(clock + (origin.get('delay_ms') or 0))}"
    )
    if writer.get("has_ended"):
        yield "ended"
    if writer.get("holds_since_ms") is not None:
        yield f"nothing later since {instant(writer['holds_since_ms'])}"
    if writer.get("mark"):
        yield f"last mark {_place(writer['mark'])}"
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
        yield f"{instant(ahead['far_ahead_ms'])} is too far ahead to be believed"


def _place(mark: _Node) -> str:
    news = mark.get("last_news_ms")
    at = "" if news is None else f", last news {instant(news)}"
    return f"{mark.get('number')} in life {mark.get('epoch')}{at}"


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
