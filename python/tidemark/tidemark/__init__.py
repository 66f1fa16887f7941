"""Tidemark: one watermark per event-time column for Spark Structured Streaming.

A jar for Spark's engine and this small facade over it. Importing the package does no work: it
starts no JVM and does not even import pyspark.

    tidemark          what a job calls
    tidemark.marks    mark logs: `Marks`, its writers, positions and cuts
    tidemark.results  what the functions return
    tidemark.errors   which error a caught exception is
    tidemark.jars     the engine's jar, to start Spark without `configure`

Example:
    >>> import tidemark
    >>> from pyspark.sql import SparkSession
    >>> spark = tidemark.configure(SparkSession.builder).getOrCreate()  # doctest: +SKIP
    >>> orders = tidemark.with_watermark(orders, "order_time", "10 minutes")  # doctest: +SKIP
"""

from __future__ import annotations

from tidemark import errors as errors
from tidemark import jars as jars
from tidemark import marks as marks
from tidemark import results as results
from tidemark._calls.call_id import call_id
from tidemark._calls.map_async import map_async
from tidemark._calls.options import Default
from tidemark._errors import TidemarkError
from tidemark._mark_logs.mark_table import mark_table
from tidemark._mark_logs.read_between import read_between
from tidemark._queries.correct import correct, forget
from tidemark._queries.explain import explain
from tidemark._queries.late import late_rows
from tidemark._queries.log import watermark_log
from tidemark._queries.offsets import offsets_at
from tidemark._queries.plot import plot
from tidemark._queries.report import report
from tidemark._queries.watch import watch
from tidemark._session.configure import configure
from tidemark._session.doctor import doctor
from tidemark._version import __version__
from tidemark._watermark.expressions import current_watermark, is_late, time_window
from tidemark._watermark.idle import Idle
from tidemark._watermark.in_order import in_order
from tidemark._watermark.note_time import note_time
from tidemark._watermark.noted import Noted
from tidemark._watermark.split_by import SplitBy
from tidemark._watermark.with_watermark import with_watermark

__all__ = [
    "Default",
    "Idle",
    "Noted",
    "SplitBy",
    "TidemarkError",
    "__version__",
    "call_id",
    "configure",
    "correct",
    "current_watermark",
    "doctor",
    "explain",
    "forget",
    "in_order",
    "is_late",
    "late_rows",
    "map_async",
    "mark_table",
    "note_time",
    "offsets_at",
    "plot",
    "read_between",
    "report",
    "time_window",
    "watch",
    "watermark_log",
    "with_watermark",
]
