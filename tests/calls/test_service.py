"""The service of `map_async`: a client that a task opens once and closes, without Spark."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from support.async_calls import IDS, RULES, STATS, call_all, set_seconds
from support.raising import raising

from tidemark._calls.worker import Worker
from tidemark.errors import error_parameters


class Opened:
    """A service that counts how often it is opened and closed."""

    def __init__(self) -> None:
        self.opened = 0
        self.closed = 0

    @asynccontextmanager
    async def in_the_loop(self) -> Any:
        self.opened += 1
        try:
            yield "client"
        finally:
            await asyncio.sleep(0)
            self.closed += 1

    @contextmanager
    def plain(self) -> Any:
        self.opened += 1
        yield "client"
        self.closed += 1


async def through(client: str, value: int) -> str:
    return f"{client} {value}"


def test_the_service_is_opened_once_and_closed() -> None:
    for name in ("in_the_loop", "plain"):
        service = Opened()
        found = call_all(through, [[1, 2], [3]], service=getattr(service, name))
        assert found == [["client 1", "client 2"], ["client 3"]]
        assert (service.opened, service.closed) == (1, 1)


def test_the_service_is_closed_when_a_call_fails() -> None:
    service = Opened()

    async def call(client: str, value: int) -> str:
        raise ValueError(client)

    with raising("ASYNC_CALL_FAILED"):
        call_all(call, [[1]], service=service.in_the_loop)
    assert (service.opened, service.closed) == (1, 1)


def test_a_service_that_cannot_be_opened_or_closed_is_named() -> None:
    @asynccontextmanager
    async def no_door() -> Any:
        raise OSError("no door")
        yield

    @asynccontextmanager
    async def no_key() -> Any:
        yield "client"
        raise OSError("no key")

    for service, text in [
        (no_door, "OSError: no door"),
        (no_key, "OSError: no key"),
        (lambda: "client", "(AttributeError|TypeError): .*"),
        (lambda: sys.exit(3), "SystemExit: 3"),
    ]:
        with raising("ASYNC_SERVICE_FAILED") as raised:
            call_all(through, [[1]], service=service)
        assert re.fullmatch(text, error_parameters(raised.value)["error"])


def test_a_service_that_is_never_closed_does_not_hold_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @asynccontextmanager
    async def forever() -> Any:
        yield "client"
        await asyncio.Event().wait()

    set_seconds(monkeypatch, "_CLOSING_SECONDS", 0.3)
    late = "TimeoutError: not closed within 0.3 seconds"
    with raising("ASYNC_SERVICE_FAILED", error=late):
        call_all(through, [[1]], service=forever)


def test_a_service_that_is_never_open_does_not_hold_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door, closed = threading.Event(), threading.Event()

    @contextmanager
    def forever() -> Iterator[str]:
        door.wait()
        yield "client"
        closed.set()

    set_seconds(monkeypatch, "_OPENING_SECONDS", 0.05)
    with raising("ASYNC_SERVICE_FAILED"):
        Worker(RULES, through, True, forever, IDS, STATS)
    door.set()
    assert closed.wait(30)
