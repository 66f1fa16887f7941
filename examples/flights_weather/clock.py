"""The replay's time: which step an event time falls into, and how steps are named.

All times are **New York wall-clock times without a zone**, as the data's own columns
``year, month, day, hour, minute`` say them; Spark reads them as if they were UTC, so
that a window's hour is the hour on the airport's clock. One oddity follows: daylight
saving ended at 02:00 on 2013-11-03, so that night's 01:00 weather comes twice, both
records in the one step 01:00. No flight departed in that hour.
"""

from __future__ import annotations

from datetime import datetime, timedelta

HOUR = timedelta(hours=1)

START = datetime(2013, 11, 2)
"""The first hour replayed."""

STEPS = 36
"""Hours replayed, one per step."""

SILENT_FROM = 12
"""The step from which on the weather says nothing, in the cases named "silent"."""

IDLE_AFTER = "3 seconds"
"""How long the weather may say nothing before it is left out, where there is such a rule.

By the wall clock, in which a step takes a second or two."""

DELAY = timedelta(minutes=10)
"""How late a row may be, in both streams."""

DELAY_TEXT = "10 minutes"
"""The same, as ``withWatermark`` takes it."""


def step_of(time: datetime) -> int | None:
    """The step in which a row of this event time arrives; None outside the replay.

    >>> step_of(datetime(2013, 11, 2, 4, 53))
    4
    """
    step = (time - START) // HOUR
    return step if 0 <= step < STEPS else None


def start_of(step: int) -> datetime:
    """The hour that a step replays.

    >>> start_of(25)
    datetime.datetime(2013, 11, 3, 1, 0)
    """
    return START + step * HOUR


def from_millis(millis: int) -> datetime:
    """A watermark as Spark and Tidemark count it, as a time of this replay.

    >>> from_millis(0)
    datetime.datetime(1970, 1, 1, 0, 0)
    """
    return datetime(1970, 1, 1) + timedelta(milliseconds=millis)
