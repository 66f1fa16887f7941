"""Which batches of a query have left their state unscanned."""

from __future__ import annotations

from pyspark.sql.streaming.listener import StateOperatorProgress, StreamingQueryProgress

from .history import FEW


def scans(operator: StateOperatorProgress) -> bool:
    """Whether the operator has scanned its state in a batch, by its progress."""
    if operator.operatorName == "stateStoreSave":
        return not operator.customMetrics.get("skippedStateScans")
    # In the plans with much state some of it expires in each batch.
    return bool(operator.numRowsTotal < FEW or operator.numRowsRemoved > 0)


def scanned(progress: StreamingQueryProgress) -> str:
    """Whether a batch has scanned all of its state, in words."""
    return "scanned" if all(map(scans, progress.stateOperators)) else "not scanned"
