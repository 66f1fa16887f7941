"""Reading a range of a stream with Spark's own batch readers: Kafka, Delta's change feed, files.

What a reader would leave out in silence is refused here, or is made an error by an option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidemark._errors import TidemarkError
from tidemark._mark_logs import delta, files, kafka
from tidemark._mark_logs.source import Source
from tidemark_marks.shared import DeltaRange, FilesRange, KafkaRange, Range

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def read(source: Source, rows: Range) -> DataFrame:
    """The rows of a range.

    Raises:
        TidemarkError: `MARK_POSITION_MISMATCH`, `CUT_EXPIRED`, `CUT_NOT_READABLE`,
            `INVALID_OPTION`.
    """
    kind = source.format.lower()
    if isinstance(rows, KafkaRange) and kind == "kafka":
        return kafka.read(source, rows)
    if isinstance(rows, DeltaRange) and kind == "delta":
        return delta.read(source, rows)
    if isinstance(rows, FilesRange) and kind not in ("kafka", "delta"):
        return files.read(source, rows)
    position = {KafkaRange: "kafka", DeltaRange: "delta", FilesRange: "files"}[type(rows)]
    raise TidemarkError(
        "MARK_POSITION_MISMATCH",
        f"The cut is of kind {position}, which format {source.format!r} does not have",
        "reading the stream that the mark log is about",
        position=position,
        other=source.format,
    )
