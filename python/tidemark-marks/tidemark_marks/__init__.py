"""Mark logs: writers state how far they are, and readers ask what is complete. Standard library only.

`Marks` is the entry. Everything else here is what its methods take or return, so that a program can
name it: writers, marks, the positions of marks, cuts, time windows, and lines that were left out.

    tidemark_marks         what a program calls
    tidemark_marks.errors  the error that it raises

Example:
    >>> from tidemark_marks import FilesPosition, Marks
    >>> marks = Marks("/lake/orders/_tidemark")  # doctest: +SKIP
"""

from __future__ import annotations

from tidemark_marks._kafka.automatic import AutomaticKafkaMarkWriter
from tidemark_marks._kafka.writer import KafkaMarkWriter
from tidemark_marks._marks import MarkLog, Marks
from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.position import (
    DeltaPosition,
    FilesPosition,
    KafkaPosition,
    NumberPosition,
    SinkBatchPosition,
)
from tidemark_marks._protocol.skipped import SkippedLine
from tidemark_marks._reading.aggregation import StreamWatermark
from tidemark_marks._reading.awaited import AwaitedWriter
from tidemark_marks._reading.cut import Cut
from tidemark_marks._reading.window import TimeWindow
from tidemark_marks._version import __version__
from tidemark_marks._writing.automatic import AutomaticMarkWriter
from tidemark_marks._writing.writer import MarkWriter
from tidemark_marks.errors import TidemarkError

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
    "TidemarkError",
    "TimeWindow",
    "__version__",
]
