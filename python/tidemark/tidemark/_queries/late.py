"""`late_rows`: how many rows of a query came too late, where, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tidemark._queries.report import report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_Node = Mapping[str, Any]


@dataclass(frozen=True)
class LateRows:
    """Late rows of one input of one stateful operator, since the query started.

    Attributes:
        key: The key of the watermark that judges the rows there: that of the operator's column. It
            never changes. None if a union has made that column of several inputs, or if it is not
            known what the column comes from.
        operator: The kind of the operator, such as `aggregation`.
        operator_id: Its number in Spark's checkpoint and in `stateOperators` of the progress.
        side: `left` or `right` for a join, None for all others.
        rows: How many rows were late, counted one by one where they arrive.
        most_late: How far behind the watermark the worst of them was; for a window, its end.
        last_rows: How many late rows the last batch with late rows had.
        last_late: How far behind the watermark the worst of these was.
        last_batch: The number of that batch.
        held_by: The key of the input that currently holds this watermark back. None if the query
            has one input, if there is no watermark yet, or if a union has made the column of
            several inputs.
        splits: The late rows of the ten splits that have most of them, the worst first. None where
            the split of a row is not known at the operator.
        other_splits: How many of `rows` are not counted in `splits`.
        passed: Whether the operator emits these rows although they are late, as `in_order` does
            with `late="pass"`. A later operator may still drop them, and counts them itself then.
    """

    key: str | None
    operator: str
    operator_id: int
    side: str | None
    rows: int
    most_late: timedelta
    last_rows: int
    last_late: timedelta
    last_batch: int
    held_by: str | None
    splits: Mapping[str, int] | None = None
    other_splits: int = 0
    passed: bool = False


def late_rows(query: StreamingQuery | str, *, spark: SparkSession | None = None) -> list[LateRows]:
    """Counts the late rows of each stateful operator, and says how late they were.

    A row is late if its event time is at or before the watermark of the previous batch. Rows are
    counted where they enter the operator, before any aggregation. Spark's own
    `numRowsDroppedByWatermark` counts what is left after a partial aggregation. Works on classic
    and Spark Connect queries.

    Args:
        query: The query, running or just stopped, or its id, as for `report`.
        spark: The session to ask. By default it is the query's own, and for an id the active one.

    Returns:
        One element for each input of an operator that drops late rows or passes them on, even if
        there were none. No element for other operators, and for queries that Tidemark does not
        manage.

    Raises:
        TidemarkError: `NOT_A_QUERY`; when the extension is not active in the session, as for
            `with_watermark`.

    Example:
        >>> for late in tidemark.late_rows(query):  # doctest: +SKIP
        ...     print(late.operator, late.side, late.rows, late.most_late)
    """
    plan = report(query, spark=spark).to_dict()["plan"]
    return [] if plan is None else list(_of_plan(dict(plan)))


def _of_plan(node: _Node) -> Iterator[LateRows]:
    yield from _of_input(node, node, None)
    for side in node.get("sides") or []:
        yield from _of_input(node, side, side["side"])
    for child in node.get("children") or []:
        yield from _of_plan(child)


def _of_input(node: _Node, found: _Node, side: str | None) -> Iterator[LateRows]:
    late = found.get("late")
    if late:
        splits = late.get("splits")
        named = None if splits is None else {split["name"]: split["rows"] for split in splits}
        yield LateRows(
            key=late["key"],
            operator=node["operator"],
            operator_id=node["id"],
            side=side,
            rows=late["rows"],
            most_late=timedelta(milliseconds=late["most_ms"]),
            last_rows=late["last_rows"],
            last_late=timedelta(milliseconds=late["last_ms"]),
            last_batch=late["last_batch"],
            held_by=late["held_by"],
            splits=named,
            other_splits=0 if named is None else late["rows"] - sum(named.values()),
            passed=bool(late.get("passed")),
        )
