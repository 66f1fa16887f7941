"""`report`: the value of each watermark of a query, and what holds it back."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._queries.report.drawing import PAGE, InWords, drawn
from tidemark._queries.report.text import render
from tidemark._session.active import require_extension

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class Report(InWords):
    """A snapshot of a query: `str()` returns a readable tree, `to_dict()` the same as plain data.

    The text begins with one sentence that says why nothing comes out, or that all is well. A
    notebook shows the report with drawings.

    The data has the engine's fields: `why`, `zone` (the session's time zone), `query`, `batch`,
    `engine`, `reason`, `inputs` (one per `withWatermark`), `hints` (with the warnings of the check at
    the start) and `plan` (the operators, nested). Times are milliseconds since the epoch in UTC, or
    None if a watermark is not defined yet. `batch` is the last batch that has
    ended, or None. Until a run has planned its first batch, `waiting_since` is `"start"` or
    `"restart"`, and `plan` is None. Everything else then comes from the checkpoint's last entry.
    `why` has the `sentence`, its `code`, the `fix` (or None), the input it is `held_by` (or None)
    and `is_trouble`: whether rows are lost, or results wait for what need not come.
    A hint has `code`, `message` and `parameters`, like an error. A query that notes its time has
    `outputs`, each with `column`, `location`, `writer`, `noted_ms` and `failures`.

    An input has `key`, `column`, `delay_ms`, `watermark_ms`, `max_event_time_ms` and
    `late_watermark_ms`, which is the watermark of the last batch: it judges the rows of the next.
    One with splits, an idle time or `max_ahead` has more fields: `split_by`, `idle_after_ms`,
    `on_return`, `when_all`, `at_join`, `max_ahead_ms`, `idle` (the whole input), `waiting` (rows
    wait to be read), `far_ahead_rows` and `splits`. One whose splits are forgotten has
    `forget_after_ms`. `idle_after_ms`, `max_ahead_ms` and `forget_after_ms` are lengths in ms.

    `splits` has the number `total`, which is the sum of `active`, `idle` and `catching_up`. It also
    has `without_rows` (active ones that never had any) and `without_clock`. It names the `worst`
    five that are furthest behind, at most fifty `furthest` for drawings, and at most five
    `idle_ones`. Each has a `name` and
    `last_active_ms`, the end of the last batch with rows of it: None if it never had any, or if
    that is not known. `silent_ms` is what counts as silence since then, and `silent_of_ms` all of
    that time, both lengths in ms. `is_expected` is present, and true, if it is expected and never had
    a row. Those that are not idle have a `state` (`"active"`, `"without_rows"` or `"catching_up"`)
    and `behind_ms`, how many ms they are behind the furthest. The worst and the idle ones have their
    `clock_ms`, and the worst `idle_at_ms`, when they become idle if they stay silent: None if they
    never do, or if the time of the run does not count as silence.

    An input whose clocks are the marks of its writers has `noted`, with the log's `location`,
    `log_read_ms`, when this run began to read what is shown of it (None before), and the time
    window, `lower_ms` and `upper_ms`, each None if there is none. It counts the writers
    that have `ended`, and for each reason the lines of the log that cannot be used
    (`skipped_lines`). `promises_broken` has the `rows` of this run that were late by what writers
    had noted, and by how many ms at most (`most_ms`). It is None where late rows are not counted.

    The splits of such an input are the writers. There `clock_ms` is the last noted time that is
    passed, less the delay, and `last_active_ms` the begin of the last batch that found news of the
    writer. An idle one tells whether it `has_ended`. A writer among the `worst` also has:

    - `holds_since_ms`: since when no later time of it is passed, by the query's clock and as far as
      this run knows; None before the run has read the log.
    - `mark`: its last mark that is passed, by the `epoch` of its life and its `number` there, with
      `last_news_ms`, when a passed mark last said something new. None before the first one.
    - `next`: what it has noted ahead, or None. `time_ms` is the next noted time. `waits_for` says
      what has to be read first, such as a partition or a file. That is up to `at`, and so far up to
      `read`, which are offsets or versions. `why` says why a file may never be read. `is_broken`
      means that marks before are missing, and `is_damaged` that the newest lines cannot be read.
      `far_ahead_ms` is a noted time that is not believed yet.

    An operator that drops late rows, or each side of a join, has `late` once a batch has ended. It
    has what `late_rows` returns, with lengths of time in ms (`most_ms`, `last_ms`). Its `key` names
    the watermark that judges rows there, and its `held_by` what currently holds that back; both are
    None if a union has made it of several inputs. `splits` has the ten splits with most late rows,
    with `name` and `rows`. It is absent where the split of a row is not known. An `in_order` that
    passes late rows on has `passed` there, and their number as `passed_rows` instead of `late_rows`.

    An operator with state has `state_rows` after a batch of this run: how many rows are in it. It,
    or each side of a join, has `late_ms` and `eviction_ms`: rows at or before the one are late, and
    state up to the other is evicted. Where no row is ever late, as in output mode complete, it has
    `never_late` instead, and `keeps_forever` where no watermark evicts its state.

    An aggregation by windows has `next_due_ms`, the watermark at which the first window in its state
    ends, or the next one if none is known to be there. It, a
    deduplication, or a side of an inner join may have `skipped_scans`: how many batches of this run
    did not scan its state. No window was due then, or little of the state had expired.

    `history` is what the watermarks of this run have been, unless `spark.tidemark.history` is off.
    It has a list for each number, all of one length: `batch`, `time_ms` (when the batch ended),
    `late_rows`, `state_rows`, and for each of the `inputs` its `watermark_ms`, `max_event_time_ms`
    and how many splits are `active` and `idle`. They have at most 512 moments of all `batches`, and
    32 inputs; `inputs_left_out` counts the others.

    A query with `map_async` has `calls` after a batch of this run: of each `column` those of the
    `last` batch that had any, and `all` of this run. They have the number of `calls`, of `retries`
    among them, how many have `failed` or `timed_out`, and how many rows were `defaulted`. Half of
    the calls took at most `p50_ms`, and `slowest` is the inputs of the one that took longest.

    A function of groups, a deduplication and a limit have `order`. Its `kind` is `"time"`, with the
    `columns` that rows are in order by, `"arrival"` (as the source has them) or `"none"`. With
    `of_groups` that holds for each group of rows, else for all rows. `over_batches` is false if
    each batch is in order by itself. `lost_at` names what has lost the order, and `why`. Of kind
    `"time"` it has lost a part of it, and of kind `"arrival"` the order between source tasks.

    An `in_order` has `held` after a batch of this run: the `rows` that wait, their `bytes`,
    `oldest_ms`, the watermarks at which the first and the last of them are emitted (`next_due_ms`,
    `last_due_ms`), the input whose watermark they wait for (`waits_for`), and the `split` that
    holds it back.
    """

    def __init__(self, data: dict[str, Any], session: SparkSession | None = None) -> None:
        self._data = data
        self._session = session

    @property
    def why(self) -> str:
        """Why nothing comes out, or that it does, in one or two sentences.

        Empty for a report from an engine without them.
        """
        return str((self._data.get("why") or {}).get("sentence") or "")

    def to_dict(self) -> dict[str, Any]:
        """A copy of the report as plain dictionaries, lists, numbers and text."""
        return copy.deepcopy(self._data)

    def __str__(self) -> str:
        return render(self._data)

    def _repr_html_(self) -> str:
        """What a notebook shows: the engine draws the report as it is, even hours later."""
        page = drawn(self._data, PAGE, self._session)
        return page if page is not None else super()._repr_html_()


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
    session = spark if spark is not None else _bridge.session_of(asked)
    require_extension(session)
    found = _bridge.report_json(asked, spark)
    if found is not None:
        return Report(json.loads(found), session)
    return Report(
        {
            "query": _unknown(asked),
            "batch": None,
            "engine": "spark",
            "why": {
                "code": "UNKNOWN_QUERY",
                "sentence": "This application has no report of the query. It keeps those of the last "
                "100 queries that have ended.",
                "fix": None,
                "held_by": None,
                "is_trouble": False,
            },
            "reason": "there is no report of the query in this application",
            "inputs": [],
            "hints": [],
            "plan": None,
        },
        session,
    )


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


def _unknown(query: StreamingQuery | UUID) -> dict[str, str | None]:
    if isinstance(query, UUID):
        return {"id": str(query), "runId": None, "name": None}
    return {"id": str(query.id), "runId": str(query.runId), "name": query.name}
