"""A way to answer a question by streaming queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.engines import Engine

from .inputs import Steps
from .rule import Outcome

SHORT = timedelta(minutes=10)
"""The delay of those who think of nothing special."""

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


class Rows(NamedTuple):
    """What arrives."""

    flights: Steps
    weather: Steps | None = None


@dataclass(frozen=True)
class Stage:
    """One of a way's queries."""

    build: Callable[[SparkSession, Path], DataFrame]
    """From the folder of the inputs. Its rows are hour, airport or nothing, and count, if they are the way's result."""
    to: str | None = None
    """The folder in that folder to which it writes. None: its rows are the way's result."""


@dataclass(frozen=True)
class Way:
    """A way, its queries in the order in which they run in each step, and its rule."""

    name: str
    engine: Engine
    rule: Callable[[Rows], Outcome]
    stages: tuple[Stage, ...]
    settings: Mapping[str, str] = field(default_factory=dict)


def read(spark: SparkSession, folder: Path, airport: str = "*") -> DataFrame:
    """What one airport reports, or all of them as one input."""
    return spark.readStream.schema("at TIMESTAMP, origin STRING").json(str(folder / airport))


def by_hour(rows: DataFrame, *by: str) -> DataFrame:
    """Counts by the hour, and by a column if one is named."""
    counts = rows.groupBy(F.window("at", "1 hour"), *by).count()
    part = F.col(by[0]) if by else F.lit("")
    return counts.select(F.col("window.start").cast("string"), part, "count")


def text_of(delay: timedelta) -> str:
    """A delay as `withWatermark` takes it, and as people read it.

    >>> text_of(timedelta(hours=1))
    '60 minutes'
    """
    return f"{delay // timedelta(minutes=1)} minutes"
