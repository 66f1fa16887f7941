"""Times and lengths of time as a report shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_zone: ContextVar[tzinfo] = ContextVar("zone", default=timezone.utc)


@contextmanager
def shown_in(zone: str | None) -> Iterator[None]:
    """Within it, `instant` shows times in this zone. UTC if there is none, or it is not known here.

    Args:
        zone: A name as Spark's session has it, such as `America/New_York`, `UTC` or `+02:00`.
    """
    token = _zone.set(_zone_named(zone or "UTC"))
    try:
        yield
    finally:
        _zone.reset(token)


def _zone_named(name: str) -> tzinfo:
    offset = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?", name)
    if offset:
        sign, hours, minutes = offset.groups()
        length = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(-length if sign == "-" else length)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # Windows has no zones of its own, and Java knows more names.
        return timezone.utc


def instant(millis: int | None) -> str:
    """A time with its offset from UTC, and with milliseconds only where it has any.

    Args:
        millis: Milliseconds since the epoch, or None for a watermark not defined yet.
    """
    if millis is None:
        return "undefined"
    try:
        moment = (_EPOCH + timedelta(milliseconds=millis)).astimezone(_zone.get())
    except OverflowError:
        # Spark's years go further than Python's.
        return f"{millis} ms"
    text = moment.isoformat(timespec="milliseconds" if millis % 1000 else "seconds")
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


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
