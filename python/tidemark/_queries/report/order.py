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
        yield _held(node["held"])
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


def _held(held: _Node) -> str:
    rows = held.get("rows") or 0
    if not rows:
        return "holds no rows"
    count = f"holds {rows:,} row{'' if rows == 1 else 's'} ({_size(held.get('bytes') or 0)})"
    return f"{count}{_until(held)}{_waits(held)}"


def _until(held: _Node) -> str:
    first, last = held.get("next_due_ms"), held.get("last_due_ms")
    if first is None or last is None:
        return ""
    if first == last:
        return f" until the watermark reaches {instant(first)}"
    return (
        f", the first until the watermark reaches {instant(first)}, the last until {instant(last)}"
    )


def _waits(held: _Node) -> str:
    if held.get("waits_for") is None:
        return ""
    split = held.get("split")
    return f"; waits for {name_of(held['waits_for'])}{f', split {shown(split)}' if split else ''}"


def _size(count: int) -> str:
    size, step = float(count), 0
    while size >= 999.95 and step < len(_UNITS):
        size, step = size / 1000, step + 1
    return f"{size:.1f} {_UNITS[step - 1]}" if step else f"{count} bytes"
