"""Times and lengths of time as a report shows them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def instant(millis: int | None) -> str:
    """A time in UTC, with its milliseconds only where it has any.

    Args:
        millis: Milliseconds since the epoch, or None for a watermark not defined yet.
    """
    if millis is None:
        return "undefined"
    try:
        moment = _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        # Spark's years go further than Python's.
        return f"{millis} ms"
    precision = "milliseconds" if millis % 1000 else "seconds"
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def duration(millis: int) -> str:
    """A length of time in the largest units that keep it exact, such as `1 hour 30 minutes`."""
    parts = []
    for unit, size in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000)):
        count, millis = divmod(millis, size)
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    if millis or not parts:
        seconds = f"{millis / 1000:g}"
        parts.append(f"{seconds} second{'' if seconds == '1' else 's'}")
    return " ".join(parts)
