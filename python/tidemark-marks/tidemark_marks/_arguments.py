"""What users give to several functions, read in one place: a location, and a time."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def path_text(location: object) -> str | None:
    """A location as text; None for what is not a location.

    Args:
        location: Text that is not blank, or a path.
    """
    path = os.fspath(location) if isinstance(location, os.PathLike) else location
    return path if isinstance(path, str) and path.strip() else None


def micros_of(time: datetime) -> int:
    """A time in whole microseconds since the epoch. Without a zone, it is in Python's own."""
    zoned = time.astimezone() if time.utcoffset() is None else time
    return (zoned - _EPOCH) // _MICROSECOND
