"""What `tidemark` shares with this package. It may change with every version, so nothing else should use it."""

from __future__ import annotations

from collections.abc import Collection

from tidemark_marks._arguments import micros_of, path_text
from tidemark_marks._command import add_commands
from tidemark_marks._marks import Marks
from tidemark_marks._printing import printable
from tidemark_marks._protocol.file_names import is_hidden
from tidemark_marks._protocol.position import MOST
from tidemark_marks._protocol.times import Time, micros
from tidemark_marks._reading.ranges import (
    DeltaRange,
    FilesRange,
    KafkaRange,
    Offsets,
    Range,
    between,
    expired,
    not_readable,
)
from tidemark_marks.errors import invalid_option

__all__ = [
    "MOST",
    "DeltaRange",
    "FilesRange",
    "KafkaRange",
    "Offsets",
    "Range",
    "Time",
    "add_commands",
    "between",
    "expired",
    "invalid_option",
    "is_hidden",
    "micros",
    "micros_of",
    "not_readable",
    "path_text",
    "printable",
    "range_between",
]


def range_between(
    marks: Marks, start_micros: int | None, end_micros: int, topics: Collection[str]
) -> tuple[Range, list[str]]:
    """The range with every row between two event times.

    Args:
        marks: The stream's marks.
        start_micros: The first event time, in microseconds since the epoch; None for the stream's beginning.
        end_micros: The last one.
        topics: The topics that are read, if it is a stream of Kafka.

    Returns:
        The range, and the writers because of which it begins at the stream's beginning.
    """
    return marks._between(start_micros, end_micros, topics)
