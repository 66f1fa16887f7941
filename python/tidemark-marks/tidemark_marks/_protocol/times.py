"""Times as users give them, as whole milliseconds since the epoch."""

from __future__ import annotations

import time as clocks
from datetime import datetime, timedelta, timezone
from typing import TypeAlias

from tidemark_marks._arguments import micros_of
from tidemark_marks._protocol.position import MOST
from tidemark_marks.errors import invalid_option

Time: TypeAlias = int | datetime | str
"""Milliseconds since the epoch, a `datetime` with a time zone, or ISO text with an offset."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

_MOST_HELD = MOST // 1000
"""A timestamp of Spark has microseconds in 64 bits: so many ms before and after the epoch."""


def wall_clock() -> int:
    """The machine's clock, in ms since the epoch."""
    return clocks.time_ns() // 1_000_000


def millis_up_to(time: object, option: str = "time") -> int:
    """The last whole millisecond up to a time: to note no more than was said.

    Args:
        time: The time, as a user gives it.
        option: The name of the argument, for the error.

    Raises:
        TidemarkError: `INVALID_OPTION` for what is not a time.
    """
    return micros(time, option) // 1000


def held_millis_up_to(time: object, option: str = "time") -> int:
    """As `millis_up_to`, and the time is one that a timestamp of Spark can hold.

    Raises:
        TidemarkError: `INVALID_OPTION` also for a time that it cannot hold, such as one in nanoseconds.
    """
    millis = millis_up_to(time, option)
    if -_MOST_HELD <= millis <= _MOST_HELD:
        return millis
    raise invalid_option(
        option,
        time,
        f"a time that a timestamp can hold, within {_MOST_HELD} ms of the epoch",
        "giving milliseconds, or by opening the log with max_ahead=None if its times are not clock times",
    )


def millis_from(time: object) -> int:
    """The first whole millisecond from a time on: to ask for no less than was said.

    Raises:
        TidemarkError: `INVALID_OPTION` for what is not a time.
    """
    return -(-micros(time) // 1000)


def length_millis(name: str, length: object) -> int:
    """A length of time in whole milliseconds, one or more.

    Raises:
        TidemarkError: `INVALID_OPTION` for what is no `timedelta`, or less than a millisecond.
    """
    if isinstance(length, timedelta) and length >= timedelta(milliseconds=1):
        return length // timedelta(milliseconds=1)
    raise invalid_option(
        name,
        length,
        "a timedelta of a millisecond or more",
        f"giving one, such as {name}=timedelta(minutes=1)",
    )


def shown(millis: int) -> str:
    """A time for people: in UTC where it is a date, else as a number."""
    try:
        text = (_EPOCH + timedelta(milliseconds=millis)).isoformat(timespec="milliseconds")
    except OverflowError:
        return str(millis)
    return text.replace("+00:00", "Z")


def micros(time: object, option: str = "time") -> int:
    """A time in whole microseconds since the epoch.

    Args:
        time: The time, as a user gives it.
        option: The name of the argument, for the error.

    Raises:
        TidemarkError: `INVALID_OPTION` for what is not a time.
    """
    if type(time) is int and -MOST - 1 <= time <= MOST:
        return time * 1000
    given = time
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given.strip().replace("Z", "+00:00"))
        except ValueError:
            given = None
    if isinstance(given, datetime) and given.utcoffset() is not None:
        return micros_of(given)
    raise invalid_option(
        option,
        time,
        "whole milliseconds since the epoch, or a date and time with a time zone",
        "giving a datetime with tzinfo, or text such as '2026-11-23T12:00:00Z'",
    )
