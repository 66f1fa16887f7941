"""Calls of `map_async` by a worker, without Spark."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tidemark._calls.call_id import CallIds
from tidemark._calls.queue import NO_KEY
from tidemark._calls.rules import Rules
from tidemark._calls.stats import Stats
from tidemark._calls.task import results
from tidemark._calls.worker import Worker

RULES = Rules(
    column="profile",
    names=("user",),
    concurrency=8,
    timeout=60.0,
    retries=0,
    backoff=0.001,
    on_error=None,
    origin="tests",
    skips_nulls=False,
)
IDS = CallIds("tests")
STATS = Stats()


def rules(**changed: Any) -> Rules:
    return Rules(**{**vars(RULES), **changed})


def call_all(
    function: Callable[..., Any],
    batches: list[list[Any]] | Iterator[list[Any]],
    *,
    service: Callable[[], Any] | None = None,
    patience: float = 10.0,
    least: int = 1000,
    ids: CallIds = IDS,
    stats: Stats = STATS,
    **changed: Any,
) -> list[list[Any]]:
    """The results of each batch. Every thread has ended then."""
    before = set(threading.enumerate())
    rows = ([(NO_KEY, (value,)) for value in batch] for batch in batches)

    def start() -> Worker:
        is_async = asyncio.iscoroutinefunction(function)
        own = rules(**changed)
        return Worker(own, function, is_async, service, ids, stats, patience=patience)

    try:
        return [
            found for _, found in results(rows, start, least, changed.get("skips_nulls", False))
        ]
    finally:
        for thread in set(threading.enumerate()) - before:
            if thread.name.startswith("tidemark-"):
                thread.join(30)
        assert set(threading.enumerate()) <= before


async def doubled(value: int) -> int:
    await asyncio.sleep(0)
    return 2 * value


def set_seconds(monkeypatch: pytest.MonkeyPatch, name: str, seconds: float) -> None:
    """Sets a length of time that the code of `Worker` uses.

    A test in the same process that loads what is sent to workers gives the class other globals than its module's.
    """
    monkeypatch.setitem(Worker.__init__.__globals__, name, seconds)
