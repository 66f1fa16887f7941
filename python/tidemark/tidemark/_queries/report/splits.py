"""What a report says of an input beyond its watermark: its splits, and silence.

An input with neither splits nor an idle setting has nothing to say here. Every field may be absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidemark._queries.report import noted
from tidemark._queries.report.printing import LONGEST_NAME
from tidemark._queries.report.times import duration, instant

_Node = dict[str, Any]


def details(origin: _Node) -> Iterator[str]:
    """The lines that hang below an input's own."""
    options = ", ".join(_options(origin))
    if options:
        yield options
    splits = origin.get("splits") or {}
    if origin.get("noted") and splits:
        yield from noted.counts(origin, splits)
    elif origin.get("split_by") and splits:
        yield _counts(splits)
    yield from _silence(origin)
    if origin.get("split_by"):
        yield from _holders(origin, splits)
        yield from _idle_ones(origin, splits)
    else:
        # One clock for the whole input: its watermark is in the line above, its name says nothing.
        yield from (
            ", ".join(_silence_of(origin, split)) for split in _waited_for(origin, splits)[:1]
        )
    yield from _far_ahead(origin)
    yield from noted.problems(origin.get("noted") or {})


def shown(name: str) -> str:
    r"""A split's name on one line: quoted, what does not print escaped, cut where it is long.

    Example:
        >>> print(shown('a "b"\n'))
        "a \"b\"\n"
    """
    text = ""
    for character in name:
        piece = '\\"' if character == '"' else repr(character)[1:-1]
        if len(text) + len(piece) > LONGEST_NAME:
            return f'"{text}"...'
        text += piece
    return f'"{text}"'


def _options(origin: _Node) -> Iterator[str]:
    if origin.get("noted"):
        yield f"noted in {origin['noted'].get('location')}"
    # By the names under which the user gave them.
    expressions = [_unquoted(expression) for expression in origin.get("split_by") or []]
    if expressions and not origin.get("noted"):
        several = ", ".join(expressions)
        yield f"split_by {several if len(expressions) == 1 else f'({several})'}"
    if origin.get("idle_after_ms") is not None:
        yield f"idle_after {duration(origin['idle_after_ms'])}"
        # These two mean nothing where nothing becomes idle.
        yield from (
            f"{name} {origin[name]}" for name in ("on_return", "when_all") if origin.get(name)
        )
    if origin.get("forget_after_ms") is not None:
        yield f"forget_after {duration(origin['forget_after_ms'])}"
    if origin.get("max_ahead_ms") is not None:
        yield f"max_ahead {duration(origin['max_ahead_ms'])}"


def _unquoted(expression: str) -> str:
    text = shown(expression)
    return text[1:-1] if text.endswith('"') else text[1:-4] + "..."


def _counts(splits: _Node) -> str:
    total = splits.get("total") or 0
    without_rows = splits.get("without_rows") or 0
    kinds = {
        "active": (splits.get("active") or 0) - without_rows,
        "idle": splits.get("idle") or 0,
        "catching up": splits.get("catching_up") or 0,
        "without a row yet": without_rows,
    }
    named = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count > 0)
    return f"{total} split{'' if total == 1 else 's'}" + (f": {named}" if named else "")


def _silence(origin: _Node) -> Iterator[str]:
    if origin.get("idle"):
        goes_on = {
            "advance": "its watermark follows the wall clock",
        }.get(str(origin.get("when_all")), "its watermark stops")
        yield f"idle as a whole, as no rows arrive: {goes_on} until the next row"
    elif origin.get("waiting") and origin.get("idle_after_ms") is not None:
        yield "rows may be waiting to be read, and no split becomes idle until they are read"


def _holders(origin: _Node, splits: _Node) -> Iterator[str]:
    # A single split holds no other one, and neither does a split that is not behind.
    several = (splits.get("total") or 0) > 1
    for place, split in enumerate(_waited_for(origin, splits)):
        holds = several and split.get("behind_ms") != 0
        if holds or place == 0:
            lead = ("held back by " if place == 0 else "then ") if holds else ""
            yield from _standing(lead, origin, split)
    for split in splits.get("worst") or []:
        if _is_left_out(origin, split):
            yield from _standing("left out: ", origin, split)


def _waited_for(origin: _Node, splits: _Node) -> list[_Node]:
    """The splits the minimum is taken over, furthest behind first."""
    return [
        split
        for split in splits.get("worst") or []
        if split.get("state") != "idle" and not _is_left_out(origin, split)
    ]


def _is_left_out(origin: _Node, split: _Node) -> bool:
    return split.get("state") == "catching_up" and origin.get("on_return") == "catch_up"


def _standing(lead: str, origin: _Node, split: _Node) -> Iterator[str]:
    """A split on one line. A writer has more to say, and each other time below its name."""
    behind = split.get("behind_ms")
    parts = [
        *_clock(origin, split),
        f"{duration(behind)} behind" if behind else "",
        "catching up" if split.get("state") == "catching_up" else "",
    ]
    # Its silence counts while others have rows.
    silence = _silence_of(origin, split, counts_alone=origin.get("when_all") != "hold")
    if origin.get("noted"):
        yield lead + ", ".join(part for part in parts if part)
        yield from (f"  {line}" for line in (*noted.marks(split), *silence))
    else:
        yield lead + ", ".join(part for part in (*parts, *silence) if part)


def _clock(origin: _Node, split: _Node) -> Iterator[str]:
    name, clock = split.get("name"), split.get("clock_ms")
    text = "null" if name is None else shown(str(name))
    if origin.get("noted"):
        yield f"writer {text}"
        yield from noted.standing(origin, split)
    else:
        yield f"split {text}"
        expected = "expected, " if split.get("is_expected") else ""
        yield f"{expected}has never had a row" if clock is None else f"clock {instant(clock)}"


def _silence_of(origin: _Node, split: _Node, *, counts_alone: bool = True) -> Iterator[str]:
    last = split.get("last_active_ms")
    if last is not None:
        yield f"{'last active' if origin.get('noted') else 'last row'} {instant(last)}"
    # The only clock of an input is always the one that had rows last.
    if origin.get("split_by") and not origin.get("noted"):
        yield from _silent_for(split)
    if split.get("idle_at_ms") is not None:
        kind = "writer" if origin.get("noted") else "split"
        while_others = "" if counts_alone else f" and another {kind} does not"
        yield f"left out at {instant(split['idle_at_ms'])} if it stays silent{while_others}"


def _silent_for(split: _Node) -> Iterator[str]:
    """How much of the time since its last row counts: downtime and pauses may not."""
    silent, real = split.get("silent_ms") or 0, split.get("silent_of_ms")
    if real is not None and real > silent:
        counted = f"silent for {duration(silent)} of {duration(real)}"
        yield f"{counted} (the rest does not count)"
    elif silent > 0:
        yield f"silent for {duration(silent)}"


def _idle_ones(origin: _Node, splits: _Node) -> Iterator[str]:
    named = splits.get("idle_ones") or []
    for split in named:
        yield from _standing("idle: ", origin, split)
    more = (splits.get("idle") or 0) - len(named)
    if named and more > 0:
        yield f"and {more} more {'is' if more == 1 else 'are'} idle"


def _far_ahead(origin: _Node) -> Iterator[str]:
    rows = origin.get("far_ahead_rows")
    if rows:
        ahead = f"{rows} row{'' if rows == 1 else 's'} too far ahead of the wall clock"
        yield f"{ahead} did not move the watermark"
