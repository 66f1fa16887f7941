"""The service of `map_async`: a client that a task opens once and closes, without Spark."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from support.async_calls import IDS, RULES, STATS, call_all, set_seconds
from support.raising import raising

from tidemark._calls.worker import Worker
from tidemark.errors import error_parameters

GROUPS = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python has no groups of tasks")


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


def test_a_service_that_cannot_be_opened_is_named() -> None:
    @asynccontextmanager
    async def no_door() -> Any:
        raise OSError("no door")
        yield

    for service, text in [
        (no_door, "OSError: no door"),
        (lambda: "client", "(AttributeError|TypeError): .*"),
        (lambda: sys.exit(3), "SystemExit: 3"),
    ]:
        with raising("ASYNC_SERVICE_FAILED") as raised:
            call_all(through, [[1]], service=service)
        assert re.fullmatch(text, error_parameters(raised.value)["error"])


@asynccontextmanager
async def late() -> Any:
    yield "client"
    await asyncio.Event().wait()


@asynccontextmanager
async def broken() -> Any:
    yield "client"
    raise OSError("no key")


@contextmanager
def broken_and_plain() -> Any:
    yield "client"
    raise OSError("no key")


@asynccontextmanager
async def asks_to_exit() -> Any:
    yield "client"
    sys.exit(3)


@asynccontextmanager
async def cancels() -> Any:
    yield "client"
    raise asyncio.CancelledError


@asynccontextmanager
async def breaks_as_a_group() -> Any:
    yield "client"
    async with asyncio.TaskGroup() as group:
        group.create_task(fail())


async def fail() -> None:
    raise OSError("one of many")


@asynccontextmanager
async def stops_the_loop() -> Any:
    yield "client"
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize(
    ("service", "reason"),
    [
        (late, "could not be closed: TimeoutError: not closed within 0.3 seconds"),
        (broken, "could not be closed: OSError: no key"),
        (broken_and_plain, "could not be closed: OSError: no key"),
        (asks_to_exit, "could not be closed: SystemExit: 3"),
        (cancels, "could not be closed: CancelledError"),
        pytest.param(breaks_as_a_group, "could not be closed: OSError: one of many", marks=GROUPS),
        (stops_the_loop, "Event loop stopped"),
    ],
)
def test_a_service_that_cannot_be_closed_is_a_warning_and_all_results_stay(
    service: Any,
    reason: str,
    is_async: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    set_seconds(monkeypatch, "_CLOSING_SECONDS", 0.3)

    def in_a_thread(client: str, value: int) -> str:
        return f"{client} {value}"

    function = through if is_async else in_a_thread
    assert call_all(function, [[1, 2], [3]], service=service) == [
        ["client 1", "client 2"],
        ["client 3"],
    ]
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("tidemark", "WARNING")
    assert reason in record.getMessage()


def test_a_call_that_fails_is_named_though_the_service_cannot_be_closed_either(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def call(client: str, value: int) -> None:
        raise ValueError("no answer")

    with raising("ASYNC_CALL_FAILED", error="ValueError: no answer"):
        call_all(call, [[1]], service=broken)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_all_threads_of_a_plain_function_have_the_one_client_that_is_closed_after_them() -> None:
    service, together = Opened(), threading.Barrier(8)
    threads, clients = set(), set()

    def call(client: str, value: int) -> bool:
        together.wait(60)
        threads.add(threading.get_ident())
        clients.add(id(client))
        return service.closed == 0

    for name in ("in_the_loop", "plain"):
        threads.clear()
        assert call_all(call, [[1] * 64], service=getattr(service, name)) == [[True] * 64]
        assert (len(threads), len(clients)) == (8, 1)
        assert service.opened == service.closed
        service.closed = 0
        service.opened = 0


def test_a_plain_function_may_ask_an_async_client_in_the_loop_that_has_opened_it() -> None:
    class Client:
        def __init__(self) -> None:
            self.loop = asyncio.get_running_loop()

        async def get(self, value: int) -> int:
            assert asyncio.get_running_loop() is self.loop
            await asyncio.sleep(0)
            return -value

    @asynccontextmanager
    async def opened() -> AsyncIterator[Client]:
        yield Client()

    def call(client: Client, value: int) -> int:
        return asyncio.run_coroutine_threadsafe(client.get(value), client.loop).result(60)

    assert call_all(call, [list(range(30))], service=opened) == [[-n for n in range(30)]]


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
