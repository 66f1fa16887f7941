"""Which batches of a query have left their state unscanned."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StateOperatorProgress,
    StreamingQueryListener,
)

from .history import FEW


def scans(operator: StateOperatorProgress) -> bool:
    """Whether the operator has scanned its state in a batch, by its progress."""
    if operator.operatorName == "stateStoreSave":
        return not operator.customMetrics.get("skippedStateScans")
    # In the plans with much state some of it expires in each batch.
    return bool(operator.numRowsTotal < FEW or operator.numRowsRemoved > 0)


class Scans(StreamingQueryListener):
    """Writes a line for each batch that has ended."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802  Spark calls it so
        scanned = all(map(scans, event.progress.stateOperators))
        with self._file.open("a", encoding="utf-8") as file:
            file.write("scanned\n" if scanned else "not scanned\n")

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802  Spark calls it so
        """Nothing has been scanned yet."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802  Spark calls it so
        """No batch has run."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802  Spark calls it so
        """No batch runs any more."""
