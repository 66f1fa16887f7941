"""A backlog as an engine's worker has to know it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Case:
    """Where the rows come from, and what parts they have."""

    name: str
    """Of this case's module, and of its folder in ``out``."""
    split: str
    """The column that names the part of the input that a row belongs to."""
    split_by: str | list[str]
    """The same, as ``tidemark.with_watermark`` takes it."""
    read: Callable[[SparkSession, str], DataFrame]
    """A stream with the column ``time`` and those named above. The text says where from."""
    jars: Callable[[], Sequence[str]] = tuple
    """What Spark needs beside itself."""
