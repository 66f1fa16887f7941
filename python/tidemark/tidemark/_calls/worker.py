"""The thread of a task in which its calls run: an event loop, and the service that is opened once."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from asyncio import Future
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from tidemark._calls.call_id import CallIds
from tidemark._calls.caller import Caller, calling
from tidemark._calls.calls import Calls
from tidemark._calls.errors import loop_blocked, loop_stopped, service_failed
from tidemark._calls.executor import Executor
from tidemark._calls.hangup import hangup
from tidemark._calls.queue import Batch, Row
from tidemark._calls.rules import Rules
from tidemark._calls.service import Service
from tidemark._calls.stats import Stats
from tidemark._calls.threads import Threads, is_calling, outlived
from tidemark._calls.watch import Watch, place_of
from tidemark._errors import TidemarkError

_CLOSING_SECONDS = 5.0
"""How long cancelled calls, and then the service, may take when a task ends."""
_OPENING_SECONDS = 300.0
"""How long a task waits for its service."""
_LOOK_SECONDS = 0.25
"""How often a task that waits for results looks whether the loop still runs."""
_OUTLIVED_SECONDS = 0.1
"""How often a task looks whether a call of an earlier task has ended."""
_STILL_SECONDS = 1.0
"""A loop that stands still so long is named once."""
_PATIENCE_SECONDS = 10.0
"""A loop that stands still longer than a call's time-out and this is blocked. Nor is a call stuck before."""


class Worker:
    """Runs the calls of a task while the task's own thread reads rows and waits for results."""

    def __init__(
        self,
        rules: Rules,
        function: Callable[..., Any],
        is_async: bool,
        service: Callable[[], Any] | None,
        ids: CallIds,
        stats: Stats,
        patience: float = _PATIENCE_SECONDS,
    ) -> None:
        """Starts the thread, and waits until the service is open.

        Args:
            rules: How calls are made.
            function: What is called, with the service first, if there is one.
            is_async: Whether it is called in the loop, or else in threads.
            service: What returns the context manager to be opened, async or not.
            ids: Makes the ids of the calls that ask for one.
            stats: Counts the calls.
            patience: How many seconds the loop may stand still beyond the time-out of a call, and a call
                that was given up may go on at least.

        Raises:
            TidemarkError: `ASYNC_SERVICE_FAILED`.
        """
        self._rules = rules
        self._function = function
        self._is_async = is_async
        self._service = Service(service)
        self._ids = ids
        self._stats = stats
        self._patience = patience
        self._has_hung_up = hangup()
        self._failure: BaseException | None = None
        self._is_blocked = False
        self._waits_for: Batch | None = None
        self._loop = asyncio.new_event_loop()
        # Our own, because the loop would wait for a thread of its own one that never ends.
        self._executor = Executor(rules.concurrency, rules.origin)
        self._loop.set_default_executor(self._executor)
        self._end = asyncio.Event()
        self._threads = Threads(self._loop, "tidemark-call", rules.origin)
        self._calls: Calls | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tidemark-async", daemon=True)
        self._thread.start()
        until = time.monotonic() + _OPENING_SECONDS
        while not self._is_ready.wait(_LOOK_SECONDS):
            has_hung_up = self._has_hung_up()
            if has_hung_up or time.monotonic() > until:
                self._tell(self._give_up_opening)
                reason = (
                    "the task has ended"
                    if has_hung_up
                    else f"not open within {_OPENING_SECONDS:g} seconds"
                )
                raise service_failed(rules.column, "opened", TimeoutError(reason))
        self._raise_failure()
        self._watch = Watch(self._loop, self._thread, _STILL_SECONDS, self._stands_still)

    def add(self, rows: Sequence[Row]) -> None:
        """Gives rows to be called, after all that were given before."""
        if self._calls is not None:
            self._tell(self._calls.add, rows)

    def wait_for(self, batch: Batch) -> None:
        """Waits until all results of a batch have arrived.

        Raises:
            TidemarkError: `ASYNC_CALL_FAILED`, `ASYNC_LOOP_BLOCKED`, `ASYNC_LOOP_STOPPED`.
            BrokenPipeError: Spark has ended the task.
        """
        # Before the failure is looked at: who fails sets it first, and then wakes who waits.
        self._waits_for = batch
        while self._failure is None and not batch.done.wait(_LOOK_SECONDS):
            if self._has_hung_up():
                raise BrokenPipeError("Spark has ended the task, so its calls are cancelled")
            self._look_at_loop()
        self._raise_failure()

    def close(self) -> None:
        """Cancels calls in flight, closes the service and the loop, and ends the threads.

        All results that the task waits for have arrived, so what goes wrong here is a warning.
        """
        failed_before = self._failure
        self._tell(self._end.set)
        # A blocked loop cannot be ended. Its thread is a daemon, and ends with the process.
        seconds = 0 if self._is_blocked else 4 * _CLOSING_SECONDS
        self._thread.join(seconds)
        self._watch.close()
        if failed_before is None and self._failure is not None:
            self._warn(self._failure)
        elif self._thread.is_alive() and not self._is_blocked:
            self._warn_of_closing(TimeoutError(f"not closed within {seconds:g} seconds"))

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _tell(self, what: Callable[..., object], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(what, *arguments)
        except RuntimeError:
            # The loop is closed. If it was not closed by us, there is a failure, which will be raised.
            return

    def _look_at_loop(self) -> None:
        seconds = self._watch.seconds_without_answer()
        if self._rules.timeout is not None and seconds > self._rules.timeout + self._patience:
            self._is_blocked = True
            raise self._blocked(seconds, place_of(self._thread))

    def _stands_still(self, seconds: float, place: str) -> None:
        # It is slow, and no error: the calls end in the end.
        self._warn(self._blocked(seconds, place))

    def _warn_of_closing(self, error: BaseException) -> None:
        self._warn(service_failed(self._rules.column, "closed", error))

    def _warn(self, what: BaseException) -> None:
        # Spark has this in the executor's log.
        logging.getLogger("tidemark").warning("%s", what)

    def _blocked(self, seconds: float, place: str) -> TidemarkError:
        task = asyncio.current_task(self._loop)
        inputs = self._calls.inputs_of(task) if self._calls is not None else None
        return loop_blocked(self._rules.column, inputs or "other inputs", round(seconds, 1), place)

    # What follows runs in the worker's thread.

    def _fail(self, failure: BaseException) -> None:
        if self._failure is None:
            self._failure = failure
        if self._waits_for is not None:
            self._waits_for.done.set()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            for part in (self._live, self._clean_up):
                self._task = self._loop.create_task(part())
                self._until_done(self._task)
        except BaseException as error:  # noqa: BLE001
            self._fail(error)
        finally:
            self._threads.close()
            self._executor.shutdown(wait=False, cancel_futures=True)
            asyncio.set_event_loop(None)
            self._loop.close()
            self._is_ready.set()

    def _until_done(self, task: asyncio.Task[None]) -> None:
        while not task.done():
            try:
                self._loop.run_until_complete(task)
            except BaseException as error:  # noqa: BLE001
                # The loop was stopped, or something that the function has left running asks the program to
                # end. The calls and the service still have to be closed.
                self._stopped(error)
                if self._loop.is_closed():
                    return

    def _stopped(self, error: BaseException) -> None:
        self._fail(loop_stopped(self._rules.column, error))
        self._end.set()

    def _give_up_opening(self) -> None:
        # A service that blocks the loop may have opened meanwhile: then it is closed.
        if self._calls is None and self._task is not None:
            self._task.cancel()
        self._end.set()

    async def _live(self) -> None:
        try:
            opened = await self._service.open()
        except BaseException as error:  # noqa: BLE001
            self._fail(service_failed(self._rules.column, "opened", error))
            return
        caller = Caller(
            calling(self._function, opened), self._is_async, self._loop, self._executor,
            self._threads, self._ids, self._hold,
        )  # fmt: skip
        self._calls = calls = Calls(
            self._rules, self._loop, caller.begin, self._fail, self._stats,
            can_cancel=self._is_async, left_by=caller.left_by, patience=self._patience,
        )  # fmt: skip
        for thread in outlived(self._rules.origin):
            calls.hold(self._loop.create_task(self._end_of(thread)))
        self._is_ready.set()
        try:
            await self._end.wait()
        except asyncio.CancelledError as error:
            # By a function that cancels all tasks of its loop.
            self._stopped(error)
        await self._ended(calls.close())
        try:
            await self._service.close(_CLOSING_SECONDS)
        except BaseException as error:  # noqa: BLE001
            self._warn_of_closing(error)

    async def _ended(self, futures: Iterable[Future[Any]]) -> None:
        """Waits until cancelled calls or tasks have ended, but not for long."""
        some = list(futures)
        with suppress(asyncio.CancelledError):
            if some:
                await asyncio.wait(some, timeout=_CLOSING_SECONDS)

    async def _end_of(self, thread: threading.Thread) -> None:
        while is_calling(thread, self._rules.origin):
            await asyncio.sleep(_OUTLIVED_SECONDS)

    def _hold(self, late: Future[Any], row: Row) -> None:
        if self._calls is not None:
            self._calls.hold(late, row)

    async def _clean_up(self) -> None:
        # What the function or the service has left running, such as the keeper of a pool.
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await self._ended(left)
        await self._ended([self._loop.create_task(self._loop.shutdown_asyncgens())])
