"""Mark logs: writers state how far they are, and readers ask what is complete. No Spark, no JVM.

These are the names of the package `tidemark_marks`, which a writer without Spark can install alone.

Example:
    >>> from tidemark.marks import FilesPosition, Marks
    >>> marks = Marks("/lake/orders/_tidemark")  # doctest: +SKIP
"""

from __future__ import annotations

from tidemark_marks import (
    AutomaticKafkaMarkWriter,
    AutomaticMarkWriter,
    AwaitedWriter,
    Cut,
    DeltaPosition,
    FilesPosition,
    KafkaMarkWriter,
    KafkaPosition,
    Mark,
    MarkLog,
    Marks,
    MarkWriter,
    NumberPosition,
    SinkBatchPosition,
    SkippedLine,
    StreamWatermark,
    TimeWindow,
)

__all__ = [
    "AutomaticKafkaMarkWriter",
    "AutomaticMarkWriter",
    "AwaitedWriter",
    "Cut",
    "DeltaPosition",
    "FilesPosition",
    "KafkaMarkWriter",
    "KafkaPosition",
    "Mark",
    "MarkLog",
    "MarkWriter",
    "Marks",
    "NumberPosition",
    "SinkBatchPosition",
    "SkippedLine",
    "StreamWatermark",
    "TimeWindow",
]
