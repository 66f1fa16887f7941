"""A local service that counts the calls of `map_async`, and holds them until it is told to answer."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil
from pyspark.sql import DataFrame

import tidemark
from support.processes import PATIENCE_SECONDS


class Call(NamedTuple):
    """What a call has brought, and from where."""

    n: int
    id: str
    worker: int
    daemon: int
    """The process that has started the worker, and may start others."""


class CountingService:
    """Doubles numbers. Every call has a connection of its own."""

    def __init__(self) -> None:
        """Answers nothing yet."""
        self.calls: list[Call] = []
        self.connections = 0
        self.held = 0
        """Calls that wait for their answer."""
        self.most_held = 0
        self._told: dict[int, Callable[[], object]] = {}
        self._answers_left = 0
        self._is_released = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> CountingService:
        self._thread.start()
        start = asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1000)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)

    def answer(self, calls: int) -> None:
        """Answers so many calls more, and holds those that come after them."""
        self._loop.call_soon_threadsafe(self._hold_after, calls)

    def answer_all(self) -> None:
        """Answers those that it holds, and all that will come."""
        self._loop.call_soon_threadsafe(self._is_released.set)

    def when_held(self, calls: int, tell: Callable[[], object]) -> None:
        """Tells once of the moment in which it holds so many calls. To be called before there are any."""
        self._told[calls] = tell

    def ids(self) -> dict[int, set[str]]:
        """The ids of the calls of each number."""
        found = defaultdict(set)
        for call in self.calls:
            found[call.n].add(call.id)
        return dict(found)

    def times_called(self) -> dict[int, int]:
        """How often each number was called."""
        found: dict[int, int] = defaultdict(int)
        for call in self.calls:
            found[call.n] += 1
        return dict(found)

    def processes(self) -> set[int]:
        """The process IDs that calls have come from, as far as these run still."""
        seen = {pid for call in self.calls for pid in (call.worker, call.daemon)}
        return {pid for pid in seen if _runs(pid)}

    def _hold_after(self, calls: int) -> None:
        self._is_released.clear()
        self._answers_left = calls

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            n, id_, worker, daemon = (await reader.readline()).split()
            self.calls.append(Call(int(n), id_.decode(), int(worker), int(daemon)))
            if self._answers_left > 0:
                self._answers_left -= 1
            elif not self._is_released.is_set() and not await self._holds(reader):
                return
            writer.write(b"%d\n" % (2 * int(n)))
            await writer.drain()
            await reader.read()
        except OSError:
            # The other end was killed.
            return
        finally:
            self.connections -= 1
            writer.close()

    async def _holds(self, reader: asyncio.StreamReader) -> bool:
        """Whether the call is to be answered in the end: its caller may have gone."""
        self.held += 1
        self.most_held = max(self.most_held, self.held)
        if tell := self._told.pop(self.held, None):
            tell()
        released = asyncio.ensure_future(self._is_released.wait())
        gone = asyncio.ensure_future(reader.read())
        try:
            await asyncio.wait([released, gone], return_when=asyncio.FIRST_COMPLETED)
            return not gone.done()
        finally:
            self.held -= 1
            released.cancel()
            gone.cancel()


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def doubled_by(port: int, rows: DataFrame) -> DataFrame:
    """The rows with a column `call`, which the service at that port has doubled from `id`."""

    async def call(n: int) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            line = f"{n} {tidemark.call_id()} {os.getpid()} {os.getppid()}\n"
            writer.write(line.encode())
            return int(await reader.readline())
        finally:
            writer.close()

    return tidemark.map_async(
        rows, "call", call, inputs="id", returns="LONG", concurrency=64, timeout=None
    )


def eventually(what: str, holds: Callable[[], bool]) -> None:
    """Waits until something holds that another process brings about."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < give_up, f"never: {what}"
        time.sleep(0.02)


def write_ids(folder: Path, number: int, ids: range) -> None:
    """Adds numbers to an input folder, as one file."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{number:05}.draft"
    draft.write_text("".join(f'{{"id": {n}}}\n' for n in ids), encoding="utf-8")
    written_at = 1_700_000_000 + number
    os.utime(draft, (written_at, written_at))
    draft.rename(folder / f"{number:05}.json")
