"""The query, the same for both engines and both backlogs: rows by the hour, per part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from common.engines import Engine

from .case import Case
from .clock import DELAY_TEXT, WINDOW_TEXT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def hourly(rows: DataFrame, case: Case, engine: Engine) -> DataFrame:
    """Columns: when the hour begins, in seconds since 1970; the part; how many rows."""
    hour = F.window("time", WINDOW_TEXT).alias("hour")
    counts = _with_watermark(rows, case, engine).groupBy(hour, case.split).count()
    return counts.select(F.unix_seconds("hour.start").alias("hour"), case.split, "count")


def _with_watermark(rows: DataFrame, case: Case, engine: Engine) -> DataFrame:
    if engine == "stock":
        return rows.withWatermark("time", DELAY_TEXT)
    import tidemark

    return tidemark.with_watermark(rows, "time", DELAY_TEXT, split_by=case.split_by)
