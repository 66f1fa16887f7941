"""The names of splits: the values that name one, each as the text of Spark's cast to STRING.

Only values with one such text are taken. How a DECIMAL reads depends on the scale of its column,
and a FLOAT or DOUBLE on the Java that runs. A time without a zone depends on what its column means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timezone
from numbers import Integral

from tidemark._errors import TidemarkError

SplitValue = str | int | bool | date | datetime | None
"""One value of a split's name: of the one expression, or of one among several."""


def listed(
    expected: Iterable[SplitValue | Sequence[SplitValue]],
) -> tuple[SplitValue | Sequence[SplitValue], ...]:
    """The expected splits, one after the other.

    Raises:
        TidemarkError: `INVALID_SPLITS` for what is not a list, or a text.
    """
    if isinstance(expected, (str, bytes, Mapping)) or not isinstance(expected, Iterable):
        raise TidemarkError(
            "INVALID_SPLITS",
            f"SplitBy.expected is of type {type(expected).__name__}, but it must be a list",
            "giving a list of the splits' values",
            type=type(expected).__name__,
        )
    return tuple(expected)


def expected_names(
    expected: Iterable[SplitValue | Sequence[SplitValue]], width: int
) -> list[list[str | None]]:
    """The names of splits that are expected, each once.

    Args:
        expected: For one split expression plain values, for several a tuple of values per split.
        width: How many split expressions there are.

    Raises:
        TidemarkError: `INVALID_SPLITS`.

    Example:
        >>> expected_names([0, 1, None], width=1)
        [['0'], ['1'], [None]]
        >>> expected_names([("orders", 0), ("orders", 1)], width=2)
        [['orders', '0'], ['orders', '1']]
    """
    names = dict.fromkeys(_name(split, width) for split in listed(expected))
    return [list(name) for name in names]


def _name(split: object, width: int) -> tuple[str | None, ...]:
    values: Sequence[object] = split if isinstance(split, (tuple, list)) else (split,)
    if len(values) != width:
        raise TidemarkError(
            "INVALID_SPLITS",
            f"The expected split {split!r} has {_counted(len(values), 'value')}, but split_by has "
            f"{_counted(width, 'expression')}",
            "giving a tuple with a value for each expression"
            if width > 1
            else "giving plain values, one for each split",
            value=split,
            values=len(values),
            expressions=width,
        )
    return tuple(_text(value) for value in values)


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _encodable(str.__str__(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, datetime):
        return _timestamp(value)
    if isinstance(value, date):
        return value.isoformat()
    raise _no_one_text(value, f"is of type {type(value).__name__}")


def _encodable(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _no_one_text(text, "is not valid Unicode") from None
    return text


def _timestamp(value: datetime) -> str:
    if value.utcoffset() is None:
        raise _no_one_text(value, "is a time without a zone")
    try:
        moment = value.astimezone(timezone.utc).replace(tzinfo=None)
    except OverflowError:
        raise _no_one_text(value, "is outside the years 1 to 9999") from None
    text = moment.isoformat(sep=" ")
    return text.rstrip("0") if moment.microsecond else text


def _no_one_text(value: object, problem: str) -> TidemarkError:
    return TidemarkError(
        "INVALID_SPLITS",
        f"The expected split value {value!r} {problem}, so its text in Spark is not known",
        "giving it as text, as Spark's cast to STRING returns it (times in UTC, bytes as hex)",
        value=value,
        reason=problem,
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
