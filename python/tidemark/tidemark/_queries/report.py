"""`report`: the value of each watermark of a query, and what holds it back."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING
from uuid import UUID

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._queries.report_data import ReportData
from tidemark._session.active import require_extension
from tidemark._shown import InWords

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class Report(InWords):
    """A snapshot of a query: `str()` returns a readable tree, `to_dict()` the same as plain data.

    The text begins with one sentence that says why nothing comes out, or that all is well. A
    notebook shows the report with drawings.
    """

    def __init__(self, data: ReportData, drawing: str = "") -> None:
        self._data = data
        self._drawing = drawing

    @property
    def why(self) -> str:
        """Why nothing comes out, or that it does, in one or two sentences."""
        return self._data["why"]["sentence"]

    def to_dict(self) -> ReportData:
        """A copy of the report as plain dictionaries, lists, numbers and text.

        `tidemark.results.ReportData` describes each field.
        """
        return copy.deepcopy(self._data)

    def __str__(self) -> str:
        return self._data["text"]

    def _repr_html_(self) -> str:
        return self._drawing or super()._repr_html_()


def report(query: StreamingQuery | str, *, spark: SparkSession | None = None) -> Report:
    """Reports a query's watermarks: each operator, each event-time column, what holds it back.

    Works on classic and Spark Connect queries. If Tidemark does not manage a query (it has no
    watermark, or is left to Spark), the report says so. For a query that has not planned a batch
    yet, the report shows what its checkpoint has.

    Args:
        query: The query, running or just stopped; or the id of one in the session's application, or
            of its run, as text. A flow of a pipeline has its id in the file `metadata` of its
            checkpoint.
        spark: The session to ask. By default it is the query's own, and for an id the active one.

    Returns:
        The report after the last batch that has ended.

    Raises:
        TidemarkError: `NOT_A_QUERY`; when the extension is not active in the session, as for
            `with_watermark`.

    Example:
        >>> print(tidemark.report(query))  # doctest: +SKIP
    """
    asked = _asked(query)
    require_extension(spark if spark is not None else _bridge.session_of(asked))
    data = json.loads(_bridge.report_json(asked, spark))
    drawing = data.pop("html")
    return Report(data, drawing)


def _asked(query: StreamingQuery | str) -> StreamingQuery | UUID:
    if isinstance(query, str):
        try:
            return UUID(query)
        except ValueError:
            pass
    elif hasattr(query, "id") and hasattr(query, "runId"):
        return query
    raise TidemarkError(
        "NOT_A_QUERY",
        f"The query is {query!r} of type {type(query).__name__}, not a streaming query",
        "passing what writeStream.start() returns, or one of spark.streams.active, or the id of one",
        query=query,
        type=type(query).__name__,
    )
