"""What a query's own progress says of all its batches."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyspark.sql.streaming.query import StreamingQuery


class Figures(NamedTuple):
    """Of all batches of a query so far."""

    batches: int
    peak_state: int
    """Rows in the state of all operators together, the most after any batch."""
    said_late: int
    """Rows dropped as late, as Spark counts them."""


def figures(query: StreamingQuery) -> Figures:
    """Reads the figures; the session has to keep the progress of all batches."""
    batches = peak = late = 0
    for progress in query.recentProgress:
        operators: list[dict[str, Any]] = progress["stateOperators"]
        # Between batches Spark tells its progress too, with the number of the next one.
        if "addBatch" in progress["durationMs"]:
            batches = max(batches, progress["batchId"] + 1)
        peak = max(peak, sum(operator["numRowsTotal"] for operator in operators))
        late += sum(operator["numRowsDroppedByWatermark"] for operator in operators)
    return Figures(batches, peak, late)
