"""What the calls of a task were, for the progress of its batch."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable

_PER_DOUBLING = 8
"""Durations are counted in buckets that are a tenth wide, as the engine has them."""


class Stats:
    """Counts calls. The loop's thread counts, and the task's thread takes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._calls = self._retries = self._failed = self._timed_out = self._defaulted = 0
        self._most_in_flight = 0
        self._durations: Counter[int] = Counter()
        self._slowest: tuple[float, str] | None = None

    def began(self, *, is_retry: bool, in_flight: int) -> None:
        """A call has begun, with which so many are in flight."""
        with self._lock:
            self._calls += 1
            self._retries += is_retry
            self._most_in_flight = max(self._most_in_flight, in_flight)

    def ended(self, seconds: float, inputs: Callable[[], str], *, has_failed: bool) -> None:
        """A call has ended with its result or an error. The inputs are in words."""
        with self._lock:
            self._failed += has_failed
            self._took(seconds, inputs)

    def gave_up(self, seconds: float, inputs: Callable[[], str]) -> None:
        """A call has passed its time-out."""
        with self._lock:
            self._timed_out += 1
            self._took(seconds, inputs)

    def took_default(self) -> None:
        """A row got a default, because its last call failed."""
        with self._lock:
            self._defaulted += 1

    def _took(self, seconds: float, inputs: Callable[[], str]) -> None:
        millis = 1000 * seconds
        self._durations[math.ceil(math.log2(millis) * _PER_DOUBLING) if millis > 1 else 0] += 1
        if self._slowest is None or self._slowest[0] < millis:
            self._slowest = (millis, inputs())

    def take(self) -> str | None:
        """What was counted since the last time, as the engine reads it; None for nothing.

        A line with the counts, one with the buckets of the durations, one with the longest duration
        in ms, and the inputs of that call.
        """
        with self._lock:
            if not (self._calls or self._durations or self._defaulted):
                return None
            counts = [
                self._calls, self._retries, self._failed, self._timed_out, self._defaulted,
                self._most_in_flight,
            ]  # fmt: skip
            buckets = [f"{bucket}:{count}" for bucket, count in self._durations.items()]
            millis, inputs = self._slowest or ("", "")
            self._clear()
        return "\n".join([" ".join(map(str, counts)), " ".join(buckets), str(millis), inputs])
