"""Calls in flight: at most so many at one time, each until its result, its error or its time-out."""

from __future__ import annotations

import asyncio
import random
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tidemark._async.errors import call_failed, described
from tidemark._async.queue import Queue, Row

_LONGEST_WAIT_SECONDS = 30.0
"""Waiting twice as long each time must not become waiting for ever."""


@dataclass(frozen=True)
class Rules:
    """How calls are made. Lengths of time are seconds.

    Attributes:
        column: The name of the new column, for messages.
        names: Those of the inputs, for messages.
        concurrency: How many calls may be in flight at one time.
        timeout: How long one call may take; None for as long as it does.
        retries: How often a call is made again.
        backoff: How long a row waits at most before its first retry. Each further wait is twice as
            long. Half of it is left to chance, so that not all rows call again at once.
        on_error: What a row gets whose last call failed, by the error and the inputs. None: an error.
    """

    column: str
    names: Sequence[str]
    concurrency: int
    timeout: float | None
    retries: int
    backoff: float
    on_error: Callable[..., object] | None


class Calls:
    """Makes the calls of rows in an event loop. Every method runs in the loop's thread."""

    def __init__(
        self,
        rules: Rules,
        loop: AbstractEventLoop,
        call: Callable[[Sequence[object]], Future[Any]],
        failed: Callable[[BaseException], None],
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Makes no call yet.

        Args:
            rules: How calls are made.
            loop: The loop, which is also the clock.
            call: Begins one call, and returns its future.
            failed: Is told of the error that ends the task.
            chance: A number from 0 to 1, anew at each call.
        """
        self._rules = rules
        self._chance = chance
        self._loop = loop
        self._call = call
        self._failed = failed
        self._queue = Queue()
        # By when they began. All have the same time-out, so the first one is the first to expire, and
        # one timer is enough for all.
        self._flying: dict[Future[Any], tuple[Row, float]] = {}
        self._timer: TimerHandle | None = None
        self._is_starting = False
        self._is_closed = False

    def add(self, rows: Sequence[Row]) -> None:
        """Takes rows that come after all rows added before."""
        for row in rows:
            self._queue.add(row)
        self._start()

    def close(self) -> list[Future[Any]]:
        """Starts no further call, and cancels those in flight, which it returns."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        flying, self._flying = list(self._flying), {}
        for future in flying:
            future.cancel()
        return flying

    def inputs_of(self, future: object) -> str | None:
        """The inputs of a call in flight, for messages."""
        found = self._flying.get(future)  # type: ignore[call-overload]
        return None if found is None else described(self._rules.names, found[0].inputs)

    def _start(self) -> None:
        # A call that fails at once comes back here, which must not become a recursion.
        if self._is_starting:
            return
        self._is_starting = True
        try:
            while len(self._flying) < self._rules.concurrency and not self._is_closed:
                row = self._queue.next()
                if row is None:
                    return
                self._begin(row)
        finally:
            self._is_starting = False

    def _begin(self, row: Row) -> None:
        row.attempts += 1
        try:
            future = self._call(row.inputs)
        except Exception as error:  # noqa: BLE001
            self._went_wrong(row, error)
            return
        self._flying[future] = (row, self._loop.time())
        if self._timer is None and self._rules.timeout is not None:
            self._timer = self._loop.call_later(
                self._rules.timeout, self._expire, self._rules.timeout
            )
        future.add_done_callback(self._returned)

    def _returned(self, future: Future[Any]) -> None:
        found = self._flying.pop(future, None)
        error = asyncio.CancelledError() if future.cancelled() else future.exception()
        if found is None:
            # Given up before, by its time-out or because the task has ended.
            return
        row, _ = found
        if error is None:
            self._done(row, future.result())
        else:
            self._went_wrong(row, error)

    def _expire(self, timeout: float) -> None:
        until = self._loop.time() - timeout
        while self._flying and not self._is_closed:
            future, (row, began) = next(iter(self._flying.items()))
            if began > until:
                self._timer = self._loop.call_later(began - until, self._expire, timeout)
                return
            # The slot is free from now on, whatever the call makes of being cancelled.
            del self._flying[future]
            future.cancel()
            self._went_wrong(row, TimeoutError(f"no result within {timeout:g} seconds"))
        self._timer = None

    def _went_wrong(self, row: Row, error: BaseException) -> None:
        rules = self._rules
        if row.attempts <= rules.retries:
            longest = max(_LONGEST_WAIT_SECONDS, rules.backoff)
            seconds = min(rules.backoff * 2 ** min(row.attempts - 1, 32), longest)
            self._loop.call_later(seconds * (1 + self._chance()) / 2, self._again, row)
            self._start()
            return
        if rules.on_error is None:
            self._failed_for(row, error)
            return
        try:
            result = rules.on_error(error, *row.inputs)
        # Also what asks a program to end: it would end the loop, and the row would wait for ever.
        except BaseException as another:  # noqa: BLE001
            self._failed_for(row, another)
            return
        self._done(row, result)

    def _failed_for(self, row: Row, error: BaseException) -> None:
        inputs = described(self._rules.names, row.inputs)
        failure = call_failed(self._rules.column, inputs, row.attempts, error)
        failure.__cause__ = error
        self._is_closed = True
        self._failed(failure)

    def _again(self, row: Row) -> None:
        self._queue.again(row)
        self._start()

    def _done(self, row: Row, result: object) -> None:
        self._queue.done(row)
        row.batch.put(row.place, result)
        self._start()
