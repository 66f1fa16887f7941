"""A look into the running query after each step: where do the watermarks stand?"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from common.engines import Engine

from .clock import from_millis
from .outcome import Outcome

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from .replay import Watch

GLOBAL = ""
"""The name under which stock's one watermark per query is kept."""


def watching(engine: Engine, outcome: Outcome) -> Watch:
    """What a worker of this engine does after each step."""
    return _keyed(outcome) if engine == "tidemark" else _global(outcome)


def _global(outcome: Outcome) -> Watch:
    def look(query: StreamingQuery) -> None:
        progress = query.lastProgress
        text = progress["eventTime"].get("watermark") if progress else None
        time = datetime.fromisoformat(text.removesuffix("Z")) if text else None
        # Spark says 1970 for a watermark that has not begun.
        begun = time is not None and time > from_millis(0)
        _note(outcome, GLOBAL, time if begun else None)

    return look


def _keyed(outcome: Outcome) -> Watch:
    import tidemark

    def look(query: StreamingQuery) -> None:
        report = tidemark.report(query)
        for origin in report.to_dict().get("inputs", []):
            millis = origin.get("watermark_ms")
            _note(outcome, origin["key"], None if millis is None else from_millis(millis))
        outcome.report = str(report)

    return look


def _note(outcome: Outcome, key: str, time: datetime | None) -> None:
    outcome.watermarks.setdefault(key, []).append(time.isoformat() if time else None)
