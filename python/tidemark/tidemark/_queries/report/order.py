"""What a report says of the order of rows: in which an operator reads them, and which rows wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidemark._queries.report.printing import name_of
from tidemark._queries.report.splits import shown
from tidemark._queries.report.times import instant

_Node = dict[str, Any]

_UNITS = ("kB", "MB", "GB")


def lines(node: _Node) -> Iterator[str]:
    """The lines that hang below an operator. An operator without an order has none."""
    if node.get("held"):
        yield from _held(node["held"])
    if node.get("order"):
        yield f"order: {_order(node['order'])}"


def _order(order: _Node) -> str:
    lost = f"at {order.get('lost_at')}: {order.get('why')}"
    rows = "each group" if order.get("of_groups") else "all rows"
    if order.get("kind") == "arrival":
        if not order.get("lost_at"):
            return f"{rows} in the order of the source"
        return f"{rows} as each task has read them from the source, lost in part {lost}"
    if order.get("kind") != "time":
        return f"none, lost {lost}"
    by = f"{rows} by {', then '.join(map(name_of, order.get('columns') or []))}"
    if order.get("lost_at"):
        return f"{by}, lost in part {lost}"
    return by if order.get("over_batches") else f"{by}, within each batch"


def _held(held: _Node) -> Iterator[str]:
    rows = held.get("rows") or 0
    if not rows:
        yield "holds no rows"
        return
    split = held.get("split")
    of_split = f", split {shown(split)}" if split else ""
    waits = f", waits for {name_of(held['waits_for'])}{of_split}" if held.get("waits_for") else ""
    yield f"holds {rows:,} row{'' if rows == 1 else 's'} ({_size(held.get('bytes') or 0)}){waits}"
    first, last = held.get("next_due_ms"), held.get("last_due_ms")
    if first is None or last is None:
        return
    emitted = "emitted when the watermark reaches"
    if first == last:
        yield f"{'it is' if rows == 1 else 'they are'} {emitted} {instant(first)}"
    else:
        yield f"the first is {emitted} {instant(first)}"
        yield f"the last is {emitted} {instant(last)}"


def _size(count: int) -> str:
    size, step = float(count), 0
    while size >= 999.95 and step < len(_UNITS):
        size, step = size / 1000, step + 1
    return f"{size:.1f} {_UNITS[step - 1]}" if step else f"{count} bytes"
