"""A length of time as users give it: Spark's interval text, which Spark reads, or a `timedelta`.

Spark is asked by giving the text as a watermark's delay. So an idle time means what the same text
means as a delay: a month has 31 days, and what is below a millisecond is dropped.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tidemark import _bridge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNITS: Final = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_PARTS: Final = re.compile(rf"(\d+)\s+({'|'.join(_UNITS)})s?(?:\s+|$)", re.IGNORECASE)
DELAY_METADATA = "spark.watermarkDelayMs"
"""Column metadata in which Spark keeps the delay of a watermark."""


class DurationError(ValueError):
    """What is wrong with a duration, as it continues after its name: `is negative`."""


def interval_text(value: object) -> str:
    """A length of time as the text that Spark reads.

    Args:
        value: Spark's interval text, or a `timedelta`.

    Raises:
        DurationError: For another type, blank text, or a negative `timedelta`.

    Example:
        >>> interval_text(timedelta(minutes=1))
        '0 days 60 seconds 0 microseconds'
    """
    if isinstance(value, timedelta):
        if value < timedelta(0):
            raise DurationError("is negative")
        return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
    if not isinstance(value, str):
        raise DurationError(f"is of type {type(value).__name__}, neither text nor a timedelta")
    if not value.strip():
        raise DurationError("is empty")
    return value


def positive_millis(value: object, session: SparkSession) -> int:
    """A length of time in whole milliseconds, one or more.

    Args:
        value: Spark's interval text, or a `timedelta`.
        session: The session that reads the text. Where it refuses to, the text is read here, and
            has to be plain.

    Raises:
        DurationError: For what is no length of time, or less than a millisecond.
    """
    text = interval_text(value)
    millis = _plain(text) if _bridge.forbids_analysis(session) else _read_by_spark(text, session)
    if millis < 1:
        raise DurationError("is less than a millisecond")
    return millis


def _plain(text: str) -> int:
    length = timedelta()
    rest = text.strip()
    while found := _PARTS.match(rest):
        number, unit = found.groups()
        try:
            length += timedelta(**{f"{unit.lower()}s": int(number)})
        except OverflowError as error:
            raise DurationError("is too long") from error
        rest = rest[found.end() :]
    if rest or not text.strip():
        raise DurationError(
            'is not plain, such as "1 minute 30 seconds": no other text can be read in a pipeline'
        )
    return length // timedelta(milliseconds=1)


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


def _read_by_spark(text: str, session: SparkSession) -> int:
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
    return int(marked.metadata[DELAY_METADATA])
