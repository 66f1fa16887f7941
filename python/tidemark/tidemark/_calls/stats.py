"""What the calls of a task were, for the progress of its batch."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Sequence

_PER_DOUBLING = 8
"""Durations are counted in buckets that are a tenth wide, as the engine has them."""


class Stats:
    """Counts calls. The loop's thread counts, and the task's thread takes."""

    def __init__(self, named: Callable[[Sequence[object]], str] = str) -> None:
        """Counts from zero.

        Args:
            named: What is said of the inputs of the slowest call.
        """
        self._named = named
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._calls = self._retries = self._failed = self._timed_out = self._defaulted = 0
        self._most_in_flight = 0
        self._durations: Counter[int] = Counter()
        self._slowest: tuple[float, Sequence[object] | None] = (-1.0, None)

    def began(self, is_retry: bool, in_flight: int) -> None:
        """A call has begun, with which so many are in flight."""
        with self._lock:
            self._calls += 1
            if is_retry:
                self._retries += 1
            if in_flight > self._most_in_flight:
                self._most_in_flight = in_flight

    def ended(self, seconds: float, inputs: Sequence[object], has_failed: bool) -> None:
        """A call has ended with its result or an error."""
        bucket = _bucket(seconds)
        with self._lock:
            if has_failed:
                self._failed += 1
            self._durations[bucket] += 1
            if seconds > self._slowest[0]:
                self._slowest = (seconds, inputs)

    def gave_up(self, seconds: float, inputs: Sequence[object]) -> None:
        """A call has passed its time-out."""
        self.ended(seconds, inputs, False)
        with self._lock:
            self._timed_out += 1

    def took_default(self) -> None:
        """A row got a default, because its last call failed."""
        with self._lock:
            self._defaulted += 1

    def take(self) -> str | None:
        """What was counted since the last time, as the engine reads it; None for nothing.

        A line with the counts, one with the buckets of the durations, one with the longest duration
        in ms, and what is said of the inputs of that call.
        """
        with self._lock:
            if not (self._calls or self._durations or self._defaulted):
                return None
            counts = [
                self._calls, self._retries, self._failed, self._timed_out, self._defaulted,
                self._most_in_flight,
            ]  # fmt: skip
            buckets = [f"{bucket}:{count}" for bucket, count in self._durations.items()]
            seconds, inputs = self._slowest
            self._clear()
        # Outside of the lock, because the text of a value may be code of the user's.
        slowest = ["", ""] if inputs is None else [str(1000 * seconds), self._named(inputs)]
        return "\n".join([" ".join(map(str, counts)), " ".join(buckets), *slowest])


def _bucket(seconds: float) -> int:
    millis = 1000 * seconds
    return math.ceil(math.log2(millis) * _PER_DOUBLING) if millis > 1 else 0
