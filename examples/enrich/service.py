"""A slow service on this machine, in a process of its own, which counts what it is asked.

python -m enrich.service '{"seed": 1, "limit": 40}'

It prints its port, and `GET /counts` returns its `Counts`. It is one thread, so no count is in doubt.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

from common.workers import EXAMPLES

from .plan import Plan, gate_of

SAMPLE_SECONDS = 0.1
"""How long each figure of `Counts.in_flight` stands for."""


class Counts(NamedTuple):
    """What the service has been asked."""

    calls: int
    refused: int
    """Calls above the limit, which have got the status 429."""
    failed: int
    """Calls that have got the status 500."""
    most_in_flight: int
    """Of all calls, also of those that were refused."""
    most_of_an_aircraft: int
    """Of the calls for one aircraft."""
    in_flight: list[int]
    """The most in flight in each `SAMPLE_SECONDS` since the first call."""


class Service:
    """Answers requests by a plan, and counts them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._flights: Counter[int] = Counter()
        self._aircraft: Counter[str] = Counter()
        self._in_flight = 0
        self._counts = Counts(0, 0, 0, 0, 0, [])
        self._first: float | None = None

    def ask(self, target: str, answer: Callable[[int, str], None]) -> None:
        """Takes a request. `answer` is told of the status and the text when it is answered."""
        url = urlsplit(target)
        if url.path == "/counts":
            answer(200, json.dumps(self._counts._asdict()))
            return
        flight = int(url.path.rpartition("/")[2])
        (aircraft,) = parse_qs(url.query)["aircraft"]
        self._begin(aircraft)
        if self._in_flight > self._plan.limit:
            self._count(refused=self._counts.refused + 1)
            self._end(aircraft, answer, 429, "too many requests")
            return
        self._flights[flight] += 1
        status, seconds = self._plan.answer(flight, self._flights[flight])
        if status != 200:
            self._count(failed=self._counts.failed + 1)
        text = gate_of(flight) if status == 200 else "the service has failed"
        loop = asyncio.get_running_loop()
        loop.call_later(seconds, self._end, aircraft, answer, status, text)

    def _begin(self, aircraft: str) -> None:
        self._in_flight += 1
        self._aircraft[aircraft] += 1
        self._count(
            calls=self._counts.calls + 1,
            most_in_flight=max(self._counts.most_in_flight, self._in_flight),
            most_of_an_aircraft=max(self._counts.most_of_an_aircraft, self._aircraft[aircraft]),
        )
        self._sample()

    def _end(
        self, aircraft: str, answer: Callable[[int, str], None], status: int, text: str
    ) -> None:
        answer(status, text)
        self._sample()
        self._in_flight -= 1
        self._aircraft[aircraft] -= 1

    def _count(self, **changed: Any) -> None:
        self._counts = self._counts._replace(**changed)

    def _sample(self) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now
        samples, place = self._counts.in_flight, int((now - self._first) / SAMPLE_SECONDS)
        # Between two calls or answers the number does not change.
        samples += [self._in_flight] * (place + 1 - len(samples))
        samples[place] = max(samples[place], self._in_flight)


class _Connection(asyncio.Protocol):
    """Requests without a body, one after the other, over a connection that stays open."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        while b"\r\n\r\n" in self._read:
            head, _, self._read = self._read.partition(b"\r\n\r\n")
            self._service.ask(head.split(b" ", 2)[1].decode(), self._answer)

    def _answer(self, status: int, text: str) -> None:
        body = text.encode()
        head = f"HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)


async def _serve(plan: Plan) -> None:
    service = Service(plan)
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(service), "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def running(plan: Plan) -> Iterator[str]:
    """The address of a service that runs until the block is left."""
    command = [sys.executable, "-m", "enrich.service", json.dumps(plan._asdict())]
    with subprocess.Popen(command, cwd=EXAMPLES, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def counts(address: str) -> Counts:
    """What the service has been asked so far."""
    with urlopen(f"{address}/counts") as answer:
        return Counts(**json.load(answer))


if __name__ == "__main__":
    asyncio.run(_serve(Plan(**json.loads(sys.argv[1]))))
