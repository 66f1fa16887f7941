"""What the service does with each request. It is drawn from a seed, so every way of asking meets the same service."""

from __future__ import annotations

import zlib
from hashlib import blake2b
from typing import NamedTuple

GATES = "ABCDEFGH"


class Answer(NamedTuple):
    """What a request gets, and after how long."""

    status: int
    seconds: float


class Plan(NamedTuple):
    """How the service behaves."""

    seed: int = 1
    limit: int = 40
    """Requests in flight. The service refuses those above it immediately, with status 429."""
    seconds: float = 0.005
    slow_seconds: float = 1.0
    one_slow_of: int = 1000
    one_failing_of: int = 200

    def answer(self, flight: int, nth: int) -> Answer:
        """What the nth request for a flight gets, of those that are not refused.

        >>> plan = Plan(one_slow_of=1, one_failing_of=1)
        >>> plan.answer(7, 1)
        Answer(status=500, seconds=1.0)
        """
        text = f"{self.seed}/{flight}/{nth}".encode()
        drawn = int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
        slow, failing = drawn % self.one_slow_of, drawn // self.one_slow_of % self.one_failing_of
        return Answer(
            500 if failing == 0 else 200, self.slow_seconds if slow == 0 else self.seconds
        )


def gate_of(flight: int) -> str:
    """The gate of a flight: what the service is asked for.

    >>> gate_of(1), gate_of(2)
    ('H', 'E')
    """
    return GATES[zlib.crc32(b"%d" % flight) % len(GATES)]
