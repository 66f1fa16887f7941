"""Tidemark: one watermark per event-time column for Spark Structured Streaming.

A jar for Spark's engine and this small facade over it. Importing the package does no work: it
starts no JVM and does not even import pyspark.

Example:
    >>> import tidemark
    >>> from pyspark.sql import SparkSession
    >>> spark = tidemark.configure(SparkSession.builder).getOrCreate()  # doctest: +SKIP
    >>> orders = tidemark.with_watermark(orders, "order_time", "10 minutes")  # doctest: +SKIP
"""

from __future__ import annotations

from tidemark._async.call_id import call_id
from tidemark._between import read_between
from tidemark._config import configure
from tidemark._correct import Correction, correct, forget
from tidemark._doctor import Diagnosis, Finding, doctor
from tidemark._errors import TidemarkError, error_code, error_parameters
from tidemark._explain import Explanation, PlanFinding, PlanInput, explain
from tidemark._idle import Idle
from tidemark._jars import EXTENSION, jar_path
from tidemark._late import LateRows, late_rows
from tidemark._log import log
from tidemark._map_async import Default, map_async
from tidemark._marks.aggregation import StreamWatermark
from tidemark._marks.automatic import AutomaticMarkWriter
from tidemark._marks.awaited import AwaitedWriter
from tidemark._marks.cut import Cut
from tidemark._marks.kafka import KafkaMarkWriter
from tidemark._marks.kafka_automatic import AutomaticKafkaMarkWriter
from tidemark._marks.mark import Mark
from tidemark._marks.marks import MarkLog, Marks
from tidemark._marks.position import (
    DeltaPosition,
    FilesPosition,
    KafkaPosition,
    NumberPosition,
    SinkPosition,
)
from tidemark._marks.skipped import SkippedLine
from tidemark._marks.window import TimeWindow
from tidemark._marks.writer import MarkWriter
from tidemark._marks_table import marks
from tidemark._note_time import note_time
from tidemark._noted import Noted
from tidemark._offsets import SourceOffsets, offsets_at
from tidemark._order import in_order
from tidemark._plot import Plot, plot
from tidemark._reading import current_watermark, is_late, time_window
from tidemark._report import Report, report
from tidemark._split_by import SplitBy
from tidemark._version import __version__
from tidemark._watch import watch
from tidemark._watermark import with_watermark

__all__ = [
    "EXTENSION",
    "AutomaticKafkaMarkWriter",
    "AutomaticMarkWriter",
    "AwaitedWriter",
    "Correction",
    "Cut",
    "Default",
    "DeltaPosition",
    "Diagnosis",
    "Explanation",
    "FilesPosition",
    "Finding",
    "Idle",
    "KafkaMarkWriter",
    "KafkaPosition",
    "LateRows",
    "Mark",
    "MarkLog",
    "MarkWriter",
    "Marks",
    "Noted",
    "NumberPosition",
    "PlanFinding",
    "PlanInput",
    "Plot",
    "Report",
    "SinkPosition",
    "SkippedLine",
    "SourceOffsets",
    "SplitBy",
    "StreamWatermark",
    "TidemarkError",
    "TimeWindow",
    "__version__",
    "call_id",
    "configure",
    "correct",
    "current_watermark",
    "doctor",
    "error_code",
    "error_parameters",
    "explain",
    "forget",
    "in_order",
    "is_late",
    "jar_path",
    "late_rows",
    "log",
    "map_async",
    "marks",
    "note_time",
    "offsets_at",
    "plot",
    "read_between",
    "report",
    "time_window",
    "watch",
    "with_watermark",
]
