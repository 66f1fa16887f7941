"""What a watermark is to do beyond its delay, as the JSON that the engine reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, TypedDict, get_args

from tidemark._durations import DurationError, positive_millis
from tidemark._errors import TidemarkError
from tidemark._split_names import SplitValue, expected_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OnReturn = Literal["hold", "catch_up"]
WhenIdle = Literal["hold", "rise", "advance"]
JoinIdle = Literal["hold", "follow"]


NO_LENGTH: Final = "none"
"""Where a length of time may be given: that there is to be none, whatever the session's setting."""

_OLDER_NAMES: Final[dict[str, WhenIdle]] = {"stop": "rise"}
"""Values of `when_idle` that have another name now."""


class Options(TypedDict, total=False):
    """By the engine's names. What is absent is the session's setting, or the engine's default."""

    key: str
    idleAfterMs: int | Literal["none"]
    expectedSplits: list[list[str | None]]
    onReturn: OnReturn
    whenIdle: WhenIdle
    maxAheadMs: int | Literal["none"]
    joinIdle: JoinIdle


def read_options(
    session: SparkSession,
    *,
    splits: int,
    key: str | None,
    idle_after: str | timedelta | None,
    expected_splits: Iterable[SplitValue | Sequence[SplitValue]] | None,
    on_return: OnReturn | None,
    when_idle: WhenIdle | None,
    max_ahead: str | timedelta | None,
    join_idle: JoinIdle | None,
) -> Options:
    """The options a user has given to `with_watermark`, checked; those left out are absent.

    `session` is asked what a duration's text means, where that is not plain; `splits` is how many
    split expressions there are.

    Raises:
        TidemarkError: `INVALID_IDLE_AFTER`, `INVALID_SPLITS`, `INVALID_OPTION`,
            `INVALID_MAX_AHEAD`.
    """
    options = Options()
    if key is not None:
        options["key"] = _name(key)
    if idle_after is not None:
        options["idleAfterMs"] = _idle_after(idle_after, session)
    if expected_splits is not None:
        options["expectedSplits"] = _expected(expected_splits, splits)
    if on_return is not None:
        _require_one_of("on_return", on_return, get_args(OnReturn))
        options["onReturn"] = on_return
    if when_idle is not None:
        named = _OLDER_NAMES.get(str(when_idle), when_idle)
        _require_one_of("when_idle", named, get_args(WhenIdle))
        options["whenIdle"] = named
    if max_ahead is not None:
        options["maxAheadMs"] = _max_ahead(max_ahead, session)
    if join_idle is not None:
        _require_one_of("join_idle", join_idle, get_args(JoinIdle))
        options["joinIdle"] = join_idle
    return options


def as_json(options: Options) -> str:
    """The text for the engine, in ASCII: nothing on its way can take a character for another."""
    return json.dumps(options)


def _name(key: object) -> str:
    if isinstance(key, str) and key.strip():
        return key
    raise TidemarkError(
        "INVALID_OPTION",
        f"key is {key!r}, and it has to be a name",
        'giving text, such as "orders", or by leaving it out: the column\'s name is used then',
    )


def _idle_after(value: object, session: SparkSession) -> int | Literal["none"]:
    if value == NO_LENGTH:
        return NO_LENGTH
    try:
        return positive_millis(value, session)
    except DurationError as problem:
        raise TidemarkError(
            "INVALID_IDLE_AFTER",
            f"idle_after {str(value)!r} {problem}",
            'giving an interval of a millisecond or more, such as "1 minute" or '
            'timedelta(minutes=1), or "none", or by leaving it out',
        ) from problem


def _max_ahead(value: object, session: SparkSession) -> int | Literal["none"]:
    if value == NO_LENGTH:
        return NO_LENGTH
    try:
        return positive_millis(value, session)
    except DurationError as problem:
        raise TidemarkError(
            "INVALID_MAX_AHEAD",
            f"max_ahead {str(value)!r} {problem}",
            'giving an interval of a millisecond or more, such as "1 day" or timedelta(days=1), '
            'or "none", or by leaving it out',
        ) from problem


def _expected(
    expected: Iterable[SplitValue | Sequence[SplitValue]], splits: int
) -> list[list[str | None]]:
    if splits == 0:
        raise TidemarkError(
            "INVALID_SPLITS",
            "expected_splits names splits, and there is no split_by to tell them apart",
            "giving split_by as well, or by leaving expected_splits out",
        )
    return expected_names(expected, splits)


def _require_one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise TidemarkError(
            "INVALID_OPTION",
            f"{name} is {value!r}, which is none of {', '.join(map(repr, choices))}",
            "giving one of them, or by leaving it out",
        )
