"""A report as text: why nothing comes out, the inputs with their watermarks, the operators.

Works on the plain data and nothing else, so that it can be tested without Spark. Fields that are
absent are left out and unknown ones are ignored: an older package can read a newer jar's report.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from tidemark._queries.report import calls, order
from tidemark._queries.report.printing import name_of
from tidemark._queries.report.splits import details, shown
from tidemark._queries.report.times import duration, instant, shown_in
from tidemark_marks.shared import printable

_Node = dict[str, Any]

_WIDTH = 100
_BOUNDS = ("late_ms", "eviction_ms", "never_late", "keeps_forever")


def render(report: _Node) -> str:
    """The whole report, without a line break at its end."""
    with shown_in(report.get("zone")):
        lines = [
            *reason(report.get("why")),
            _heading(report),
            *_inputs(report),
            *_outputs(report),
            *calls.lines(report),
            *_hints(report),
            *_plan(report.get("plan")),
        ]
        return "\n".join(map(printable, lines))


def reason(why: _Node | None) -> Iterator[str]:
    """The lines that say why nothing comes out, and what a user can do."""
    if why and why.get("sentence"):
        yield from _lines(str(why["sentence"]))
        if why.get("fix"):
            yield from _lines(f"Fix this by {why['fix']}.")


def _lines(text: str) -> list[str]:
    return wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _heading(report: _Node) -> str:
    query = report.get("query") or {}
    name = name_of(query.get("name") or query.get("id") or "?")
    if report.get("engine") != "tidemark":
        return f"query {name}: left to Spark ({report.get('reason') or 'no reason given'})"
    batch = report.get("batch")
    where = "no batch has ended yet" if batch is None else f"batch {batch}"
    waiting = report.get("waiting_since")
    if waiting:
        since = " since the restart" if waiting == "restart" else ""
        return f"query {name}, {where}: waiting for its first batch{since}"
    return f"query {name}, {where}: one watermark per event-time column"


def _inputs(report: _Node) -> Iterator[str]:
    inputs = report.get("inputs") or []
    if not inputs:
        return
    yield "inputs"
    for origin in inputs:
        delay = origin.get("delay_ms")
        parts = [
            _label(origin.get("key"), origin.get("column")),
            f"watermark {instant(origin.get('watermark_ms'))}",
            f"delay {duration(delay)}" if delay is not None else "",
            f"largest event time {instant(origin.get('max_event_time_ms'))}",
        ]
        yield "  " + ", ".join(part for part in parts if part)
        yield from ("    " + detail for detail in details(origin))


def _outputs(report: _Node) -> Iterator[str]:
    outputs = report.get("outputs") or []
    if outputs:
        yield "noted for other queries"
    for output in outputs:
        noted = output.get("noted_ms")
        state = "nothing is noted yet" if noted is None else f"noted {instant(noted)}"
        failures = output.get("failures")
        failed = f", {failures} marks could not be written" if failures else ""
        where = f"writer {output.get('writer')} in {output.get('location')}"
        yield f"  {_label(None, output.get('column'))}, {state}, {where}{failed}"


def _hints(report: _Node) -> Iterator[str]:
    hints = report.get("hints") or []
    if hints:
        yield "hints"
    for hint in hints:
        yield f"  {hint.get('code')}: {hint.get('message')}"


def _plan(plan: _Node | None) -> Iterator[str]:
    if plan:
        yield "operators"
        yield from _operator(plan, first="  ", rest="  ")


def _operator(node: _Node, first: str, rest: str) -> Iterator[str]:
    children = node.get("children") or []
    yield first + _operator_line(node)
    # Details of an operator hang beside the line that leads down to its children.
    beside = rest + ("│    " if children else "     ")
    # Who holds a watermark back is worth a word only where there is more than one who could.
    show_holder = len(_inputs_below(node)) > 1
    details_of = (*_columns(node, show_holder), *_bounds(node, show_holder), *order.lines(node))
    for detail in details_of:
        yield beside + detail
    for child in children:
        last = child is children[-1]
        yield from _operator(
            child,
            first=rest + ("└─ " if last else "├─ "),
            rest=rest + ("   " if last else "│  "),
        )


def _inputs_below(node: _Node) -> set[str]:
    own = {node["key"]} if node.get("key") else set()
    return own.union(*map(_inputs_below, node.get("children") or []))


def _operator_line(node: _Node) -> str:
    line = str(node.get("operator") or "?")
    identity = node.get("id")
    if identity is not None:
        line += f" #{identity}"
    if node.get("key"):
        line += f" [{name_of(node['key'])}]"
    late = node.get("late_rows")
    if late:
        line += f", {late} late row{'' if late == 1 else 's'}"
    passed = node.get("passed_rows")
    if passed:
        line += f", {passed} late row{'' if passed == 1 else 's'} passed on"
    return line


def _columns(node: _Node, show_holder: bool) -> Iterator[str]:
    for column in node.get("columns") or []:
        # A column that begins here, or is not defined below, has nothing to come in.
        came = column.get("in_ms")
        yield (
            f"{_label(column.get('key'), column.get('name'))}: "
            + (f"in {instant(came)}, " if came is not None else "")
            + f"out {instant(column.get('out_ms'))}{_holder(column, show_holder)}"
        )
    if node.get("least_ms") is not None:
        yield f"no event-time column; everything below has passed {instant(node['least_ms'])}"
    for number in node.get("inputs_without_event_time") or []:
        yield f"input {number} has no event time and is left out"


def _bounds(node: _Node, show_holder: bool) -> Iterator[str]:
    for side in node.get("sides") or []:
        yield f"{side.get('side')} side: {_late_and_eviction(side, show_holder)}"
        yield from _late_splits(side)
    if not node.get("sides") and any(node.get(name) is not None for name in _BOUNDS):
        yield _late_and_eviction(node, show_holder)
        yield from _late_splits(node)
    if node.get("next_due_ms") is not None:
        due = instant(node["next_due_ms"])
        yield f"the next window closes when the watermark reaches {due}{_skipped(node)}"


def _late_and_eviction(node: _Node, show_holder: bool) -> str:
    late, eviction = node.get("late_ms"), node.get("eviction_ms")
    # An `in_order` may pass late rows on.
    passed = " (passed on)" if (node.get("late") or {}).get("passed") else ""
    if node.get("never_late"):
        rows = "no row is late here"
    else:
        rows = "no rows late yet" if late is None else f"late at or before {instant(late)}{passed}"
    if node.get("keeps_forever"):
        return f"{rows}, state kept forever"
    if eviction is None:
        return f"{rows}, no state evicted yet"
    # Windows say it beside the time at which the next of them is due.
    skipped = _skipped(node) if node.get("next_due_ms") is None else ""
    return f"{rows}, state evicted up to {instant(eviction)}{_holder(node, show_holder)}{skipped}"


def _late_splits(node: _Node) -> Iterator[str]:
    late = node.get("late") or {}
    worst = late.get("splits") or []
    if worst:
        others = (late.get("rows") or 0) - sum(split["rows"] for split in worst)
        named = [f"{shown(split['name'])} {split['rows']}" for split in worst]
        yield f"late rows by split: {', '.join(named)}" + (f", others {others}" if others else "")


def _skipped(node: _Node) -> str:
    scans = node.get("skipped_scans") or 0
    return f", {scans} state scan{'' if scans == 1 else 's'} skipped" if scans else ""


def _holder(node: _Node, show: bool) -> str:
    return f", held back by {name_of(node['held_by'])}" if show and node.get("held_by") else ""


def _label(key: str | None, column: str | None) -> str:
    if key and column and key != column:
        return f"{name_of(column)} [{name_of(key)}]"
    return name_of(column or key or "?")
