"""What a report says of asynchronous calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidemark._queries.report.printing import name_of

_Node = dict[str, Any]

_KINDS = [
    ("retries", "retry", "retries"),
    ("failed", "failed", "failed"),
    ("timed_out", "time-out", "time-outs"),
    ("defaulted", "row with a default", "rows with a default"),
]


def lines(report: _Node) -> Iterator[str]:
    """The lines of all columns. A query without calls has none."""
    columns = report.get("calls") or []
    if columns:
        yield "calls"
    for column in columns:
        last, of_run = column.get("last") or {}, column.get("all") or {}
        name = name_of(column.get("column"))
        yield f"  {name}: {_counts(last)} in the last batch, {_counts(of_run)} so far"
        if last.get("slowest_ms") is not None:
            half, most = _millis(last.get("p50_ms")), _millis(last.get("p99_ms"))
            in_flight = last.get("most_in_flight")
            yield f"    half within {half}, 99 % within {most}, at most {in_flight} in flight in a task"
            # Without the inputs, if the calls were made with `show_inputs=False`.
            inputs = f": {last['slowest']}" if last.get("slowest") else ""
            yield f"    the slowest took {_millis(last['slowest_ms'])}{inputs}"


def _counts(calls: _Node) -> str:
    count = calls.get("calls") or 0
    others = [
        f"{number:,} {singular if number == 1 else several}"
        for name, singular, several in _KINDS
        if (number := calls.get(name) or 0)
    ]
    text = f"{count:,} call{'' if count == 1 else 's'}"
    return f"{text} ({', '.join(others)})" if others else text


def _millis(millis: float | None) -> str:
    if millis is None:
        return "?"
    return f"{millis:.1f} ms" if millis < 100 else f"{millis:,.0f} ms"
