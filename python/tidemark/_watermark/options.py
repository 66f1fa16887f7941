"""What a watermark is to do beyond its delay, as the JSON that the engine reads."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, TypedDict

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._watermark.durations import DurationError, interval_text, positive_millis
from tidemark._watermark.idle import AtJoin, Idle, OnReturn, WhenAll
from tidemark._watermark.noted import Noted, lengths_of, location, log_options
from tidemark._watermark.split_by import SplitBy, split_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_LENGTH: Final = "none"
"""The value that switches off an option that takes a length of time, whatever the session's setting."""


class Options(TypedDict, total=False):
    """By the engine's names. What is absent is the session's setting, or the engine's default.

    A length of time is its number of milliseconds, or a text that the engine reads.
    """

    key: str
    idleAfterMs: int
    idleAfter: str
    expectedSplits: list[list[str | None]]
    forgetAfterMs: int
    forgetAfter: str
    onReturn: OnReturn
    whenAll: WhenAll
    maxAheadMs: int
    maxAhead: str
    atJoin: AtJoin
    noted: str | Literal[True]
    onlyExpected: bool
    notedOptions: dict[str, str]


def read_options(
    session: SparkSession,
    *,
    key: str | None = None,
    split_by: SplitBy | None = None,
    idle_after: str | timedelta | None = None,
    idle: Idle | None = None,
    max_ahead: str | timedelta | None = None,
    noted: Noted | None = None,
) -> Options:
    """The options a user has given to `with_watermark`, checked; those left out are absent.

    `session` reads lengths of time.

    Raises:
        TidemarkError: `INVALID_IDLE_AFTER`, `INVALID_MAX_AHEAD`; `INVALID_OPTION`, also if a
            `tidemark.marks.Marks` in `noted` has another `idle_after` or `max_ahead`.
    """
    given = _one_idle(idle_after, idle)
    options = Options()
    if key is not None:
        options["key"] = _name(key)
    name = "idle_after" if idle is None else "Idle.after"
    silence = None if given.after is None else _idle_after(name, given.after, session)
    ahead = None if max_ahead is None else _max_ahead(max_ahead, session)
    if noted is not None:
        own = lengths_of(noted.log)
        silence = _agreed("idle_after", silence, own.idle_after)
        ahead = _agreed("max_ahead", ahead, own.max_ahead)
    if isinstance(silence, int):
        options["idleAfterMs"] = silence
    elif silence is not None:
        options["idleAfter"] = silence
    expected = None if split_by is None else split_names(split_by)
    if expected is not None:
        options["expectedSplits"] = expected
    if split_by is not None and split_by.forget_after is not None:
        forgetting = _forget_after(split_by.forget_after, session)
        if isinstance(forgetting, int):
            options["forgetAfterMs"] = forgetting
        else:
            options["forgetAfter"] = forgetting
    if given.on_return is not None:
        options["onReturn"] = given.on_return
    if given.when_all is not None:
        options["whenAll"] = given.when_all
    if isinstance(ahead, int):
        options["maxAheadMs"] = ahead
    elif ahead is not None:
        options["maxAhead"] = ahead
    if given.at_join is not None:
        options["atJoin"] = given.at_join
    if noted is not None:
        options["noted"] = location(noted.log)
        if noted.expected:
            options["expectedSplits"] = [[writer] for writer in noted.expected]
        if noted.only_expected:
            options["onlyExpected"] = True
        kafka = log_options(noted.log, noted.options)
        if kafka:
            options["notedOptions"] = kafka
    return options


def _agreed(name: str, given: int | str | None, own: int | str | None) -> int | str | None:
    """A length of time in ms that the call gives, or the `tidemark.marks.Marks` in it, or both alike.

    Raises:
        TidemarkError: `INVALID_OPTION` if they differ.
    """
    if given is None or own is None or given == own:
        return own if given is None else given
    here, there = (one if isinstance(one, str) else f"{one} ms" for one in (given, own))
    raise TidemarkError(
        "INVALID_OPTION",
        f"{name} is {here}, but the Marks that is given as noted has {there}",
        f"giving {name} in one of the two places, or the same in both",
        option=name,
        value=here,
        allowed=there,
    )


def as_json(options: Options) -> str:
    """The text for the engine, in ASCII: nothing on its way can take a character for another."""
    return json.dumps(options)


def _name(key: object) -> str:
    if isinstance(key, str) and key.strip():
        return key
    raise TidemarkError(
        "INVALID_OPTION",
        f"key is {key!r}, but it must be a name",
        'giving text, such as "orders", or by leaving it out: the column\'s name is used then',
        option="key",
        value=key,
        allowed="a name",
    )


def _one_idle(idle_after: str | timedelta | None, idle: object) -> Idle:
    if idle is None:
        return Idle(idle_after)
    if not isinstance(idle, Idle):
        raise TidemarkError(
            "INVALID_OPTION",
            f"idle is {idle!r} of type {type(idle).__name__}, but it must be a tidemark.Idle",
            'giving idle=tidemark.Idle(after="1 minute"), or idle_after="1 minute" for short',
            option="idle",
            value=idle,
            allowed="an Idle",
        )
    if idle_after is not None:
        raise TidemarkError(
            "INVALID_OPTION",
            "idle_after and idle are both given, but idle_after is the short form of idle",
            f"giving idle=tidemark.Idle(after={idle_after!r}, ...) alone",
        )
    return idle


def _length(value: object, session: SparkSession) -> int | str:
    if value == NO_LENGTH:
        return NO_LENGTH
    if _bridge.forbids_analysis(session):
        return interval_text(value)
    return positive_millis(value, session)


def _idle_after(name: str, value: object, session: SparkSession) -> int | str:
    try:
        return _length(value, session)
    except DurationError as problem:
        raise TidemarkError(
            "INVALID_IDLE_AFTER",
            f"{name} {str(value)!r} {problem}",
            'giving an interval of a millisecond or more, such as "1 minute" or '
            'timedelta(minutes=1), or "none", or by leaving it out',
            value=value,
            reason=problem,
        ) from problem


def _forget_after(value: object, session: SparkSession) -> int | str:
    try:
        return _length(value, session)
    except DurationError as problem:
        raise TidemarkError(
            "INVALID_OPTION",
            f"SplitBy.forget_after {str(value)!r} {problem}",
            'giving an interval of a millisecond or more, such as "30 days" or timedelta(days=30), '
            'or "none", or by leaving it out',
            option="forget_after",
            value=value,
            allowed="a length of time",
        ) from problem


def _max_ahead(value: object, session: SparkSession) -> int | str:
    try:
        return _length(value, session)
    except DurationError as problem:
        raise TidemarkError(
            "INVALID_MAX_AHEAD",
            f"max_ahead {str(value)!r} {problem}",
            'giving an interval of a millisecond or more, such as "1 day" or timedelta(days=1), '
            'or "none", or by leaving it out',
            value=value,
            reason=problem,
        ) from problem
