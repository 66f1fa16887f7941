"""Calls in flight: at most so many at one time, each until its result, its error or its time-out."""

from __future__ import annotations

import asyncio
import random
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tidemark._calls.errors import call_failed, reason_of, slots_stuck
from tidemark._calls.queue import NO_KEY, Queue, Row
from tidemark._calls.rules import Rules
from tidemark._calls.stats import Stats
from tidemark._calls.stuck import Kept, Stuck, may_go_on

_LATE_SECONDS = 0.1
"""A loop that is so much later than it was to be has stood still."""


class AskedToEndError(Exception):
    """Carries a `SystemExit` or `KeyboardInterrupt` of a function, as its cause: these two would end the loop."""


class Calls:
    """Makes the calls of rows in an event loop. Every method runs in the loop's thread.

    A call has its slot until it has ended, and so have the threads that it has begun. A time-out gives
    up the row and not the slot: else more calls than allowed would be in flight, as a thread goes on.
    """

    def __init__(
        self,
        rules: Rules,
        loop: AbstractEventLoop,
        call: Callable[[Row], Future[Any]],
        failed: Callable[[BaseException], None],
        stats: Stats,
        can_cancel: bool = True,
        chance: Callable[[], float] = random.random,
        left_by: Callable[[Future[Any]], Iterable[Future[Any]]] = lambda _: (),
        patience: float = 0.0,
    ) -> None:
        """Makes no call yet.

        Args:
            rules: How calls are made.
            loop: The loop, which is also the clock.
            call: Begins one call, and returns its future.
            failed: Is told of the error that ends the task.
            stats: Counts the calls.
            can_cancel: Whether cancelling a future makes its call end. A thread cannot be cancelled.
            chance: Returns a random number from 0 to 1.
            left_by: Returns what goes on of a call whose future has ended, such as a thread.
            patience: How many seconds a call that was given up may go on at least.
        """
        self._rules = rules
        self._stats = stats
        self._can_cancel = can_cancel
        self._chance = chance
        self._left_by = left_by
        self._may_go_on = may_go_on(rules.timeout, patience)
        self._concurrency = rules.concurrency
        self._loop = loop
        self._call = call
        self._failed = failed
        self._queue = Queue()
        # By when they began. All have the same time-out, so the first one is the first to expire, and
        # one timer is enough for all.
        self._flying: dict[Future[Any], tuple[Row, float]] = {}
        self._stuck = Kept(loop, self._may_go_on, self._look_at_stuck)
        self._timer: TimerHandle | None = None
        self._is_starting = False
        self._is_closed = False

    def add(self, rows: Sequence[Row]) -> None:
        """Takes rows that come after all rows added before."""
        for row in rows:
            self._queue.add(row)
        self._start()
        self._look_at_stuck()

    def hold(self, call: Future[Any], row: Row | None = None) -> None:
        """Keeps a slot until something has ended: a call of an earlier task, or a thread of a call."""
        if self._is_closed:
            call.cancel()
            return
        self._stuck.keep(call, row)
        call.add_done_callback(self._returned)

    def close(self) -> list[Future[Any]]:
        """Starts no further call, and cancels those in flight, which it returns."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        flying = [*self._flying, *self._stuck.clear()]
        self._flying = {}
        for future in flying:
            future.cancel()
        return flying

    def inputs_of(self, future: object) -> str | None:
        """The inputs of a call that has not ended, for messages."""
        flying = self._flying.get(future)  # type: ignore[call-overload]
        row = self._stuck.row_of(future) if flying is None else flying[0]
        return None if row is None else self._rules.described(row.inputs)

    def _start(self) -> None:
        # A call that fails immediately comes back here, which must not become a recursion.
        if self._is_starting:
            return
        self._is_starting = True
        try:
            while self._in_flight() < self._concurrency and not self._is_closed:
                row = self._queue.next()
                if row is None:
                    return
                self._begin(row)
        finally:
            self._is_starting = False

    def _in_flight(self) -> int:
        return len(self._flying) + len(self._stuck.calls)

    def _begin(self, row: Row) -> None:
        row.attempts += 1
        try:
            future = self._call(row)
        except Exception as error:  # noqa: BLE001
            self._went_wrong(row, error)
            return
        self._flying[future] = (row, self._loop.time())
        self._stats.began(row.attempts > 1, self._in_flight())
        if self._timer is None and self._rules.timeout is not None:
            self._expire_in(self._rules.timeout, self._rules.timeout)
        future.add_done_callback(self._returned)

    def _returned(self, future: Future[Any]) -> None:
        found = self._flying.pop(future, None)
        error = _error_of(future)
        left = self._left_by(future)
        if left:
            row = found[0] if found else self._stuck.row_of(future)
            self._keep_slots_of(left, row)
        if found is None:
            # Given up before, by its time-out or because the task has ended.
            self._free_slot(future)
            return
        row, began = found
        self._stats.ended(self._loop.time() - began, row.inputs, error is not None)
        if error is None:
            self._done(row, future.result())
        else:
            self._went_wrong(row, error)

    def _expire_in(self, seconds: float, timeout: float) -> None:
        due = self._loop.time() + seconds
        self._timer = self._loop.call_later(seconds, self._expire, timeout, due)

    def _expire(self, timeout: float, due: float | None) -> None:
        if due is not None and self._loop.time() - due > _LATE_SECONDS:
            # A call has let no other run. The answers that have come meanwhile are taken first.
            self._timer = self._loop.call_later(_LATE_SECONDS, self._expire, timeout, None)
            return
        until = self._loop.time() - timeout
        while self._flying and not self._is_closed:
            future, (row, began) = next(iter(self._flying.items()))
            if began > until:
                self._expire_in(began - until, timeout)
                return
            del self._flying[future]
            self._stats.gave_up(self._loop.time() - began, row.inputs)
            self._stuck.keep(future, row)
            if self._can_cancel:
                future.cancel()
            self._went_wrong(row, TimeoutError(f"no result within {timeout:g} seconds"))
        self._timer = None

    def _keep_slots_of(self, left: Iterable[Future[Any]], row: Row | None) -> None:
        if row is not None:
            for future in left:
                self.hold(future, row)

    def _free_slot(self, call: Future[Any]) -> None:
        stuck = self._stuck.free(call)
        if stuck is None:
            return
        if stuck.row is not None and stuck.then is not None:
            # Something else of the row may go on.
            self._when_its_key_is_free(stuck.row, stuck.then)
        self._start()

    def _look_at_stuck(self) -> None:
        """Ends the task if rows wait for nothing but calls that should have ended long ago."""
        if self._is_closed or not self._stuck.calls:
            return
        overdue = self._stuck.overdue()
        for stuck in overdue:
            if self._holds_its_key(stuck):
                self._failed_by(stuck, "the slot of a key")
                return
        slots = self._rules.concurrency
        # A call without a time-out may wait forever for a thread that such a call has.
        waits = self._rules.timeout is None if self._flying else self._queue.is_waiting
        if waits and len(overdue) == len(self._stuck.calls) >= slots:
            self._failed_by(overdue[0], "the only slot" if slots == 1 else f"all {slots} slots")

    def _holds_its_key(self, stuck: Stuck) -> bool:
        if stuck.row is None or stuck.then is None:
            return False
        return stuck.then == self._queue.again or self._queue.has_next(stuck.row)

    def _failed_by(self, stuck: Stuck, slots: str) -> None:
        inputs = None if stuck.row is None else self._rules.described(stuck.row.inputs)
        self._end(slots_stuck(self._rules.column, slots, inputs, self._may_go_on))

    def _went_wrong(self, row: Row, error: BaseException) -> None:
        rules = self._rules
        if row.attempts <= rules.retries:
            seconds = rules.wait_before_retry(row.attempts, self._chance())
            self._loop.call_later(seconds, self._again, row)
            self._start()
            return
        if rules.on_error is None:
            self._failed_for(row, error, reason_of(error))
            return
        try:
            result = rules.on_error(error, *row.inputs)
        # Also what asks a program to end: it would end the loop, and the row would wait forever.
        except BaseException as another:  # noqa: BLE001
            reason = f"{reason_of(error)}. Then on_error failed: {reason_of(another)}"
            self._failed_for(row, another, reason)
            return
        self._stats.took_default()
        self._done(row, result)

    def _failed_for(self, row: Row, error: BaseException, reason: str) -> None:
        inputs = self._rules.described(row.inputs)
        failure = call_failed(self._rules.column, inputs, row.attempts, reason)
        failure.__cause__ = error
        self._end(failure)

    def _end(self, failure: BaseException) -> None:
        self._is_closed = True
        self._failed(failure)

    def _again(self, row: Row) -> None:
        self._when_its_key_is_free(row, self._queue.again)

    def _done(self, row: Row, result: object) -> None:
        row.batch.put(row.place, result)
        if row.chain is NO_KEY:
            # Nothing waits for this row, but another one may have its slot.
            self._start()
        else:
            self._when_its_key_is_free(row, self._queue.done)

    def _when_its_key_is_free(self, row: Row, then: Callable[[Row], None]) -> None:
        # One call at a time for each key: a call that was given up counts as long as it goes on.
        stuck = None if row.chain is NO_KEY else self._stuck.of(row)
        if stuck is None:
            then(row)
        else:
            stuck.then = then
            self._look_at_stuck()
        self._start()


def _error_of(future: Future[Any]) -> BaseException | None:
    if future.cancelled():
        return asyncio.CancelledError()
    error = future.exception()
    return error.__cause__ if isinstance(error, AskedToEndError) else error
