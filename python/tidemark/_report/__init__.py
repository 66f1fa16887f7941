"""`report`: where each watermark of a running query stands, and what holds it back."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._report.text import render
from tidemark._session import require_extension

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class Report:
    """One look at a query: `str()` gives a tree to read, `to_dict()` the same as plain data.

    The data is what the engine says, field by field: `query`, `batch`, `engine`, `reason`,
    `origins` (one per `withWatermark`), `notes` and `plan` (the operators, nested). Times are
    milliseconds since the epoch in UTC, None where a watermark is not defined yet; `batch` is the
    last batch that has ended, None while none has. Until a run has planned its first batch,
    `waiting_since` is `"start"` or `"restart"`, `plan` is None, and all else is what the
    checkpoint's last entry knows.

    An origin with splits or an idle setting has more: `split_by`, `idle_after_ms`, `on_return`,
    `when_all`, `at_join`, `max_ahead_ms`, `idle` (all of it), `waiting` (rows are there to be read),
    `far_ahead_rows`, and `splits` with the totals, the `worst` five that are furthest behind, and
    `idle_ones`, at most five.

    An operator that drops late rows, or each side of a join, has `late` once a batch has ended:
    what `late_rows` gives, with lengths of time in ms (`most_ms`, `last_ms`). Its `key` says by
    which watermark rows are judged there, its `held_by` who holds that back at the moment.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dictionaries, lists, numbers and text; a copy of its own."""
        return copy.deepcopy(self._data)

    def __str__(self) -> str:
        return render(self._data)

    def __repr__(self) -> str:
        query = self._data.get("query", {})
        return f"<tidemark.Report of {query.get('name') or query.get('id')}>"


def report(query: StreamingQuery, *, spark: SparkSession | None = None) -> Report:
    """Looks at a query's watermarks: every operator, every event-time column, who holds it back.

    Works on classic and Spark Connect queries. A query that Tidemark does not run (it has no
    watermark, or is left to Spark) gives a report that says so. One that has been started and has
    not planned a batch yet is known by what its checkpoint says.

    Args:
        query: The running query.
        spark: The session to ask; the query's own when left out.

    Returns:
        The report as of the last batch that has ended.

    Raises:
        TidemarkError: `NOT_A_QUERY`; when the extension is not active in the session, as for
            `with_watermark`.

    Example:
        >>> print(tidemark.report(query))  # doctest: +SKIP
    """
    if not (hasattr(query, "id") and hasattr(query, "runId")):
        raise TidemarkError(
            "NOT_A_QUERY",
            f"The query is {query!r} of type {type(query).__name__}, not a streaming query",
            "passing what writeStream.start() returns, or one of spark.streams.active",
        )
    require_extension(spark if spark is not None else _bridge.session_of(query))
    found = _bridge.report_json(query, spark)
    if found is not None:
        return Report(json.loads(found))
    return Report(
        {
            "query": {"id": str(query.id), "runId": str(query.runId), "name": query.name},
            "batch": None,
            "engine": "spark",
            "reason": "Tidemark does not know this query: it has no watermark, failed at its "
            "start, or ended long ago",
            "origins": [],
            "notes": [],
            "plan": None,
        }
    )
