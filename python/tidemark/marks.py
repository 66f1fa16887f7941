"""Mark logs: writers state how far they are, and readers ask what is complete. No Spark, no JVM.

`Marks` is the entry. Everything else here is what its methods take or return, so that a program can
name it: writers, marks, the positions of marks, cuts, time windows, and lines that were left out.

Example:
    >>> from tidemark.marks import FilesPosition, Marks
    >>> marks = Marks("/lake/orders/_tidemark")  # doctest: +SKIP
"""

from __future__ import annotations

from tidemark._marks.kafka.automatic import AutomaticKafkaMarkWriter
from tidemark._marks.kafka.writer import KafkaMarkWriter
from tidemark._marks.marks import MarkLog, Marks
from tidemark._marks.protocol.mark import Mark
from tidemark._marks.protocol.position import (
    DeltaPosition,
    FilesPosition,
    KafkaPosition,
    NumberPosition,
    SinkBatchPosition,
)
from tidemark._marks.protocol.skipped import SkippedLine
from tidemark._marks.reading.aggregation import StreamWatermark
from tidemark._marks.reading.awaited import AwaitedWriter
from tidemark._marks.reading.cut import Cut
from tidemark._marks.reading.window import TimeWindow
from tidemark._marks.writing.automatic import AutomaticMarkWriter
from tidemark._marks.writing.writer import MarkWriter

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
