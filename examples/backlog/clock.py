"""The times of both backlogs: what is counted by the hour, and how late a row may be.

All times are the data's own wall-clock times, without a zone; Spark reads them as if they
were UTC. Event times are counted in seconds since 1970, as the data is to the minute.
"""

from __future__ import annotations

from calendar import timegm
from datetime import datetime, timedelta

WINDOW = 3600
WINDOW_TEXT = "1 hour"

DELAY = 3600
DELAY_TEXT = "1 hour"
"""How late a row may be. Within each part the rows are in order, so any delay would do there."""


def seconds(time: datetime) -> int:
    """A time of the data as it is counted here.

    >>> seconds(datetime(1970, 1, 2, 0, 1))
    86460
    """
    return timegm(time.timetuple())


def window_of(second: int) -> int:
    """The beginning of the window that a row falls into.

    >>> window_of(7260)
    7200
    """
    return second - second % WINDOW


def shown(second: int) -> str:
    """A time as people read it.

    >>> shown(86460)
    '1970-01-02 00:01'
    """
    return f"{datetime(1970, 1, 1) + timedelta(seconds=second):%Y-%m-%d %H:%M}"
