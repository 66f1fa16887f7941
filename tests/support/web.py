"""A small HTTP service, and a client of asyncio in the shape of `aiohttp`'s, for calls of `map_async`."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Request(NamedTuple):
    """What the service is asked. The names of headers are in small letters."""

    path: str
    body: str
    headers: dict[str, str]
    in_flight: int
    """With this one."""


class Reply(NamedTuple):
    """What it answers."""

    text: str
    status: int = 200
    headers: Mapping[str, str] = {}


@dataclass
class Web:
    """A running service, and what has come to it."""

    answer: Callable[[Request], Reply]
    address: str = ""
    requests: list[Request] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    connections: int = 0
    in_flight: int = 0

    def __post_init__(self) -> None:
        self.lock = threading.Lock()

    def statuses(self, status: int) -> int:
        """How many replies had this status."""
        return sum(reply.status == status for reply in self.replies)

    @property
    def most_in_flight(self) -> int:
        return max(request.in_flight for request in self.requests)


@contextmanager
def serving(answer: Callable[[Request], Reply]) -> Iterator[Web]:
    """A service that runs in threads of this process. `answer` may wait."""
    web = Web(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Else the small answers wait for one another.
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            with web.lock:
                web.connections += 1

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            with web.lock:
                web.in_flight += 1
                request = Request(self.path, body, headers, web.in_flight)
                web.requests.append(request)
            reply = web.answer(request)
            with web.lock:
                web.in_flight -= 1
                web.replies.append(reply)
            text = reply.text.encode()
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Says nothing of requests."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 256
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        web.address = f"127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield web
        finally:
            server.shutdown()


class Response:
    """An answer."""

    def __init__(self, status: int, headers: dict[str, str], body: str) -> None:
        self.status = status
        self.headers = headers
        self._body = body

    async def text(self) -> str:
        return self._body

    async def json(self) -> Any:
        return json.loads(self._body)

    def raise_for_status(self) -> None:
        if self.status >= 400:
            raise OSError(f"{self.status}: {self._body}")


Responding = AbstractAsyncContextManager[Response]


class Session:
    """Keeps its connections open, with one request at a time on each. Belongs to the loop that opens it."""

    def __init__(self, address: str) -> None:
        self._host, _, self._port = address.partition(":")
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *error: object) -> None:
        for _, writer in self._idle:
            writer.close()

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Responding:
        return self._request("GET", path, "", headers or {})

    def post(self, path: str, data: str, headers: Mapping[str, str] | None = None) -> Responding:
        return self._request("POST", path, data, headers or {})

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, data: str, headers: Mapping[str, str]
    ) -> AsyncIterator[Response]:
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            reader, writer = await asyncio.open_connection(self._host, int(self._port))
        try:
            given = {**headers, "Content-Length": str(len(data.encode()))}.items()
            head = "".join(f"{name}: {value}\r\n" for name, value in given)
            writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n{data}".encode())
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            found = dict(line.split(": ", 1) for line in lines[1:])
            body = await reader.readexactly(int(found["Content-Length"]))
        except BaseException:
            # Its answer would be taken for the next one's.
            writer.close()
            raise
        self._idle.append((reader, writer))
        yield Response(int(lines[0].split(" ")[1]), found, body.decode())
