"""What runs of a query leave in a file: a line for each batch that has ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)


class Lines(StreamingQueryListener):
    """Writes what a function says of the progress of each batch."""

    def __init__(self, file: Path, line: Callable[[StreamingQueryProgress], str]) -> None:
        self._file = file
        self._line = line

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802  Spark calls it so
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{self._line(event.progress)}\n")

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802  Spark calls it so
        """No batch has run yet."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802  Spark calls it so
        """No batch has run."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802  Spark calls it so
        """No further batch runs."""
