"""Ranges between cuts and between times of a mark log, for the tests that compare them with a model."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

import pytest

from tidemark import TidemarkError
from tidemark.marks import Cut, Mark
from tidemark_marks._reading.cut import ends_at, joined_cut
from tidemark_marks._reading.log import Contents
from tidemark_marks._reading.ranges import Range, between_times
from tidemark_marks._reading.rules import History, histories

SEEDS = range(12)

T = TypeVar("T")


def known(marks: Sequence[Mark]) -> dict[str, History]:
    return histories(Contents(tuple(marks), (), ()), None)


def cut_at(marks: Sequence[Mark], millis: int) -> Cut:
    found = known(marks)
    return joined_cut(found, ends_at(found, (), (), millis), millis)


def rows_between(
    marks: Sequence[Mark], start_millis: int | None, end_millis: int, topics: tuple[str, ...] = ()
) -> tuple[Range, list[str]]:
    found = known(marks)
    ends = ends_at(found, (), (), end_millis)
    cut = joined_cut(found, ends, end_millis)
    start = None if start_millis is None else start_millis * 1000
    return between_times(found, ends, cut, start, topics)


def refused(ask: Callable[[], object]) -> str:
    with pytest.raises(TidemarkError) as error:
        ask()
    return error.value.code


def unless(ask: Callable[[], T], *codes: str) -> T | None:
    """The answer; None if it is refused with one of the codes."""
    try:
        return ask()
    except TidemarkError as error:
        if error.code not in codes:
            raise
        return None


def by_writer(marks: Sequence[Mark]) -> dict[str, list[Mark]]:
    ordered = sorted(marks, key=lambda mark: mark[:3])
    return {writer: list(some) for writer, some in groupby(ordered, key=lambda mark: mark.writer)}


def growing(marks: Sequence[Mark], chance: random.Random) -> Iterator[list[Mark]]:
    """A log as readers find it one after another: each writer's marks come in order."""
    writers = by_writer(marks)
    counts = dict.fromkeys(writers, 1)
    while any(counts[writer] < len(some) for writer, some in writers.items()):
        for writer, some in writers.items():
            counts[writer] = min(counts[writer] + chance.choice([0, 1, 1, 4]), len(some))
        yield [mark for writer, some in writers.items() for mark in some[: counts[writer]]]


def complete_up_to(marks: Sequence[Mark]) -> int:
    """The largest time that all writers have noted; below all times if one has noted none."""
    noted = (
        max((mark.time_millis for mark in some if mark.time_millis is not None), default=-1)
        for some in by_writer(marks).values()
    )
    return min(noted)
