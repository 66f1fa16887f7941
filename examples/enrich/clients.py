"""The client of each way, as a user would write it with what Python has: `http.client`, and `asyncio`.

Each keeps its connections open. Each asks again after an error, `TRIES` times in all, and waits before that for a time
that doubles and has chance in it. A call may take `TIMEOUT_SECONDS`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from http.client import HTTPConnection, HTTPException
from threading import local

TRIES = 5
BACKOFF_SECONDS = 0.1
TIMEOUT_SECONDS = 5.0
CONNECTIONS = 100
"""That a client of asyncio opens: the default of `aiohttp` and of `httpx`."""

_thread = local()


class ServiceError(OSError):
    """The service has not answered with status 200."""


def _path(flight: int, aircraft: str) -> str:
    return f"/flights/{flight}?aircraft={aircraft}"


def _wait_seconds(tried: int) -> float:
    return BACKOFF_SECONDS * 2.0 ** (tried - 1) * random.uniform(0.5, 1)


# For functions that wait.


def ask(address: str, flight: int, aircraft: str) -> str:
    """The gate of a flight. The thread waits for it, and also before it asks again."""
    for tried in range(1, TRIES):
        try:
            return _ask_once(address, flight, aircraft)
        except (OSError, HTTPException):
            time.sleep(_wait_seconds(tried))
    return _ask_once(address, flight, aircraft)


def _ask_once(address: str, flight: int, aircraft: str) -> str:
    # A connection is for one thread at a time.
    connections: dict[str, HTTPConnection] = _thread.__dict__
    if address not in connections:
        connections[address] = HTTPConnection(
            address.removeprefix("http://"), timeout=TIMEOUT_SECONDS
        )
    try:
        connections[address].request("GET", _path(flight, aircraft))
        answer = connections[address].getresponse()
        text = answer.read().decode()
    except (OSError, HTTPException):
        connections.pop(address).close()
        raise
    if answer.status != 200:
        raise ServiceError(f"{answer.status} {text}")
    return text


# For functions that are asynchronous.


class Client:
    """Asks over connections that stay open, with one request at a time on each."""

    def __init__(self, address: str) -> None:
        """Opens no connection yet."""
        host, _, port = address.removeprefix("http://").partition(":")
        self._host, self._port = host, int(port)
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def gate(self, flight: int, aircraft: str) -> str:
        """The gate of a flight, asked for once.

        Raises:
            ServiceError: The status is not 200.
        """
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            writer.write(f"GET {_path(flight, aircraft)} HTTP/1.1\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            text = (await reader.readexactly(int(head.rpartition(":")[2]))).decode()
        except BaseException:
            # The next request would get this answer, for example when this one has been cancelled.
            writer.close()
            raise
        self._idle.append((reader, writer))
        status = int(head.split(" ", 2)[1])
        if status != 200:
            raise ServiceError(f"{status} {text}")
        return text

    def close(self) -> None:
        """Closes the connections."""
        for _, writer in self._idle:
            writer.close()


@asynccontextmanager
async def opened(address: str) -> AsyncIterator[Client]:
    """A client that is closed in the end."""
    client = Client(address)
    try:
        yield client
    finally:
        client.close()


async def gathered(
    address: str, flights: Iterable[int], aircraft: Iterable[str], at_most: int
) -> list[str]:
    """The gates of many flights, with so many calls in flight at one time."""
    async with opened(address) as client:
        slots = asyncio.Semaphore(at_most)

        async def gate(flight: int, aircraft: str) -> str:
            for tried in range(1, TRIES + 1):
                try:
                    async with slots:
                        return await asyncio.wait_for(
                            client.gate(flight, aircraft), TIMEOUT_SECONDS
                        )
                except (OSError, asyncio.TimeoutError):
                    if tried == TRIES:
                        raise
                await asyncio.sleep(_wait_seconds(tried))
            raise AssertionError

        return await asyncio.gather(*map(gate, flights, aircraft))
