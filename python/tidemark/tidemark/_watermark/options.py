"""What a watermark is to do beyond its delay, as the JSON that the engine reads."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Literal, TypedDict

from tidemark._errors import invalid_option
from tidemark._watermark.durations import length_text, plain_millis
from tidemark._watermark.idle import AtJoin, Idle, OnReturn, WhenAll
from tidemark._watermark.noted import Lengths, Noted, lengths_of, location, log_options
from tidemark._watermark.split_by import SplitBy, split_names


class Options(TypedDict, total=False):
    """By the engine's names. What is absent is the session's setting, or the engine's default.

    A length of time is a text that the engine reads.
    """

    key: str
    idleAfter: str
    expectedSplits: list[list[str | None]]
    forgetAfter: str
    onReturn: OnReturn
    whenAll: WhenAll
    maxAhead: str
    atJoin: AtJoin
    noted: str | Literal[True]
    onlyExpected: bool
    notedOptions: dict[str, str]


def read_options(
    *,
    key: str | None = None,
    split_by: SplitBy | None = None,
    idle_after: str | timedelta | None = None,
    idle: Idle | None = None,
    max_ahead: str | timedelta | None = None,
    noted: Noted | None = None,
) -> Options:
    """The options a user has given to `with_watermark`, checked; those left out are absent.

    Raises:
        TidemarkError: `INVALID_OPTION`, also if a `tidemark.marks.Marks` in `noted` has another
            `idle_after` or `max_ahead`.
    """
    given = _one_idle(idle_after, idle)
    options = Options()
    if key is not None:
        options["key"] = _name(key)
    own = Lengths() if noted is None else lengths_of(noted.log)
    silence = _agreed("idle_after", given.after, own.idle_after)
    if silence is not None:
        options["idleAfter"] = silence
    expected = None if split_by is None else split_names(split_by)
    if expected is not None:
        options["expectedSplits"] = expected
    if split_by is not None and split_by.forget_after is not None:
        options["forgetAfter"] = length_text("forget_after", split_by.forget_after)
    if given.on_return is not None:
        options["onReturn"] = given.on_return
    if given.when_all is not None:
        options["whenAll"] = given.when_all
    ahead = _agreed("max_ahead", max_ahead, own.max_ahead)
    if ahead is not None:
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


def _agreed(name: str, given: object, own: int | str | None) -> str | None:
    """A length of time that the call gives, or the `tidemark.marks.Marks` in it, or both alike.

    Args:
        name: The option, for the error.
        given: What the call gives.
        own: What the `Marks` was given: milliseconds, or `"none"`.

    Raises:
        TidemarkError: `INVALID_OPTION` if they differ.
    """
    text = None if given is None else length_text(name, given)
    if own is None:
        return text
    there = own if isinstance(own, str) else f"{own} milliseconds"
    if text is None:
        return there
    if text == there or plain_millis(text) == own:
        return text
    raise invalid_option(
        name,
        str(given),
        f"{there}, as the Marks that is given as noted has it",
        f"giving {name} in one of the two places, or the same in both",
    )


def as_json(options: Options) -> str:
    """The text for the engine, in ASCII: nothing on its way can take a character for another."""
    return json.dumps(options)


def _name(key: object) -> str:
    if isinstance(key, str) and key.strip():
        return key
    raise invalid_option(
        "key",
        key,
        "a name",
        'giving text, such as "orders", or by leaving it out: the column\'s name is used then',
    )


def _one_idle(idle_after: str | timedelta | None, idle: object) -> Idle:
    if idle is None:
        return Idle(idle_after)
    if not isinstance(idle, Idle):
        raise invalid_option(
            "idle",
            idle,
            "a tidemark.Idle",
            'giving idle=tidemark.Idle(after="1 minute"), or idle_after="1 minute" for short',
        )
    if idle_after is not None:
        raise invalid_option(
            "idle_after",
            idle_after,
            "left out where idle is given, which has it as after",
            f"giving idle=tidemark.Idle(after={idle_after!r}, ...) alone",
        )
    return idle
