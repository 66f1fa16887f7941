"""A length of time as users give it, in milliseconds, counted as Spark counts a watermark's delay.

The plain forms, `10 minutes` or `1 hour 30 minutes`, are read here. Spark itself is asked about any
other text, by giving it as a delay: then an idle time means what the same text means as a delay.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELAY_METADATA = "spark.watermarkDelayMs"
"""Column metadata in which Spark keeps the delay of a watermark."""

_MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
    # Spark's own count for a delay.
    "month": 31 * 86_400_000_000,
    "year": 12 * 31 * 86_400_000_000,
}
_PLAIN = re.compile(r"\s*(?:interval\s+)?((?:[0-9]{1,18}\s+[a-z]+(?:\s+|$))+)", re.ASCII)
_SPARKS_LIMIT_MICROS = 2**63


class DurationError(ValueError):
    """What is wrong with a duration, as it goes on after its name: `is negative`."""


def positive_millis(value: object, session: SparkSession) -> int:
    """A length of time in whole milliseconds; what is below a millisecond is dropped.

    Months count 31 days and years 12 months, as in a delay.

    Args:
        value: Spark's interval text, or a `timedelta`.
        session: The session to ask about text that is not plain.

    Raises:
        DurationError: For what is no length of time, or not at least a millisecond.
    """
    if isinstance(value, timedelta):
        micros = value // timedelta(microseconds=1)
    elif isinstance(value, str):
        if not value.strip():
            raise DurationError("is empty")
        plain = plain_micros(value)
        micros = _asked_of_spark(value, session) if plain is None else plain
    else:
        raise DurationError(f"is of type {type(value).__name__}, neither text nor a timedelta")
    if micros < 0:
        raise DurationError("is negative")
    if micros >= _SPARKS_LIMIT_MICROS:
        raise DurationError("is too long for Spark to count")
    if micros < 1_000:
        raise DurationError("is zero" if micros == 0 else "is less than a millisecond")
    return micros // 1_000


def plain_micros(text: str) -> int | None:
    """Text of whole numbers with units, in microseconds; None where only Spark knows.

    Example:
        >>> plain_micros("1 minute 30 seconds")
        90000000
        >>> plain_micros("1.5 seconds") is None
        True
    """
    found = _PLAIN.fullmatch(text.lower())
    if found is None:
        return None
    words = found.group(1).split()
    sizes = [_MICROS.get(unit.removesuffix("s")) for unit in words[1::2]]
    counts = map(int, words[::2])
    micros = 0
    for count, size in zip(counts, sizes, strict=True):
        if size is None:
            return None
        micros += count * size
    return micros


def problem_with(error: Exception) -> str | None:
    """What Spark found wrong with a delay; None for an error about something else."""
    condition = getattr(error, "getCondition", lambda: None)() or ""
    text = str(error)
    if "delay threshold" in text:
        return "is negative"
    # Spark 4.0 says it in Java's words alone.
    if condition.startswith("INTERVAL_ARITHMETIC_OVERFLOW") or "long overflow" in text:
        return "is too long for Spark to count"
    if "CANNOT_PARSE_INTERVAL" in (condition or text):
        return "is not an interval Spark can parse"
    return None


def _asked_of_spark(text: str, session: SparkSession) -> int:
    from pyspark.errors import PySparkException

    # A watermark on any stream with a timestamp: on a batch DataFrame Spark leaves it out. Nothing
    # is run for it.
    times = session.readStream.format("rate").load()
    try:
        marked = times.withWatermark("timestamp", text).schema["timestamp"]
    except PySparkException as error:
        problem = problem_with(error)
        if problem is None:
            raise
        raise DurationError(problem) from error
    return int(marked.metadata[DELAY_METADATA]) * 1_000
