"""`watch`: the report of a running query, drawn again and again in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from tidemark._errors import invalid_option
from tidemark._queries.report import Report, report
from tidemark._queries.report_data import ReportData
from tidemark._shown import name_of
from tidemark_marks.shared import printable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


MOST_SECONDS = 1_000_000


def watch(
    query: StreamingQuery,
    *,
    every: float = 2.0,
    until: Callable[[Report], bool] | None = None,
    spark: SparkSession | None = None,
) -> Report:
    """Shows a query's report until the query ends, or until Ctrl-C.

    In a notebook one drawing is replaced by the next. Elsewhere a line is printed whenever the
    sentence or a watermark has changed. No thread is started. Works on classic and Spark Connect.

    Args:
        query: The query, running or just stopped.
        every: How long to wait from one report to the next, in seconds.
        until: Ends the watching too, once it returns True for a report.
        spark: The session to ask. By default it is the query's own.

    Returns:
        The last report.

    Raises:
        TidemarkError: `INVALID_OPTION`; what `report` raises.

    Example:
        >>> tidemark.watch(query, until=lambda now: "Nothing" in now.why)  # doctest: +SKIP
    """
    if not _is_length(every):
        raise invalid_option("every", every, "a number of seconds above zero")
    if until is not None and not callable(until):
        raise invalid_option("until", until, "a function of a report, or None")
    # Asked before the report: a batch that ends in between is in it.
    is_active = query.isActive
    now = report(query, spark=spark)
    show = _screen()
    show(now)
    try:
        while is_active and not (until is not None and until(now)):
            _pause(every)
            is_active = query.isActive
            now = report(query, spark=spark)
            show(now)
    except KeyboardInterrupt:
        # That is how a user ends it.
        pass
    return now


def _is_length(seconds: object) -> bool:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return False
    return 0 < seconds < MOST_SECONDS


def _pause(seconds: float) -> None:
    time.sleep(seconds)


class _Display(Protocol):
    def update(self, what: Any) -> None: ...


def _screen() -> Callable[[Report], None]:
    return _in_a_notebook() or _printing()


def _in_a_notebook() -> Callable[[Report], None] | None:
    """One place of a notebook's output; None where Python runs in no notebook."""
    # A notebook has loaded IPython already; a script need not load it.
    ipython = sys.modules.get("IPython")
    # IPython in a terminal has no kernel, and cannot replace what it has printed.
    if ipython is None or getattr(ipython.get_ipython(), "kernel", None) is None:
        return None
    display = import_module("IPython.display").display
    handle: _Display | None = None

    def show(now: Report) -> None:
        nonlocal handle
        if handle is None:
            handle = display(now, display_id=True)
        else:
            handle.update(now)

    return show


def _printing() -> Callable[[Report], None]:
    last: tuple[str, ...] | None = None

    def show(now: Report) -> None:
        nonlocal last
        line = _line(now.to_dict())
        if line[1:] != last:
            last = line[1:]
            sys.stdout.write(printable(", ".join(part for part in line if part)) + "\n")
            sys.stdout.flush()

    return show


def _line(data: ReportData) -> tuple[str, ...]:
    """The batch, which alone is not news; each watermark; the sentence; and what to do."""
    batch = data.get("batch")
    why = data["why"]
    watermarks = [f"{name_of(origin['key'])} {origin['watermark']}" for origin in data["inputs"]]
    return (
        "no batch yet" if batch is None else f"batch {batch}",
        *watermarks,
        why["sentence"] + (f" Fix this by {why['fix']}." if why["fix"] else ""),
    )
