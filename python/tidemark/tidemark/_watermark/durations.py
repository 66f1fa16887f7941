"""Lengths of time as users give them: an interval of Spark as text, or a `timedelta`.

The engine reads the text, as Spark reads a watermark's delay: a month has 31 days, and what is below
a millisecond is dropped. Python reads it only where a length is used in Python.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from tidemark._errors import TidemarkError, invalid_option

NO_LENGTH: Final = "none"
"""Where a length of time may be given: that there is to be none, whatever the session's setting."""

_DAY: Final = 86_400_000_000
_MICROS: Final = {
    "year": 12 * 31 * _DAY,
    "month": 31 * _DAY,
    "week": 7 * _DAY,
    "day": _DAY,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1000,
    "microsecond": 1,
}
_PART: Final = re.compile(
    rf"([+-]?\d+)(?:\.(\d{{1,9}})(?=\s+second))?\s+({'|'.join(_MICROS)})s?(?:\s+|$)",
    re.IGNORECASE,
)
_PREFIX: Final = re.compile(r"\s*(?:interval\s+)?", re.IGNORECASE)


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


def length_text(option: str, value: object) -> str:
    """A length of time as the text that the engine reads, which refuses what it cannot read.

    Args:
        option: The option, for the error.
        value: Spark's interval text, a `timedelta`, or `"none"`.

    Raises:
        TidemarkError: `INVALID_OPTION` for another type, blank text, or a negative `timedelta`.
    """
    try:
        return interval_text(value)
    except DurationError as problem:
        raise _no_length(option, value) from problem


def length_millis(option: str, value: object) -> int:
    """A length of time in whole milliseconds, one or more, read without Spark.

    Args:
        option: The option, for the error.
        value: Spark's interval text in its usual form, such as `"1 minute 30 seconds"`, or a
            `timedelta`.

    Raises:
        TidemarkError: `INVALID_OPTION` for what is not a length of time, or less than a millisecond.
    """
    millis = plain_millis(length_text(option, value))
    if millis is None or millis < 1:
        raise _no_length(option, value)
    return millis


def plain_millis(text: str) -> int | None:
    """The milliseconds of an interval in its usual form; None for any other text.

    Example:
        >>> plain_millis("1 minute 30.5 seconds")
        90500
    """
    at = _PREFIX.match(text).end()  # type: ignore[union-attr]
    micros = 0
    if at == len(text):
        return None
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            return None
        number, fraction, unit = found.groups()
        part = int(number) * _MICROS[unit.lower()]
        below = int((fraction or "").ljust(9, "0")) // 1000
        micros += part - below if number.startswith("-") else part + below
        at = found.end()
    # Spark counts in 64 bits.
    return micros // 1000 if abs(micros) < 1 << 63 else None


def _no_length(option: str, value: object) -> TidemarkError:
    return invalid_option(
        option,
        str(value) if isinstance(value, timedelta) else value,
        "a length of time above zero, such as '1 minute' or timedelta(minutes=1)",
    )
