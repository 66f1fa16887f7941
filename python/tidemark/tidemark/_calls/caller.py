"""One call of the function: where it runs, its own inputs, its id, and what it has given to threads."""

from __future__ import annotations

import asyncio
import copy
import functools
from asyncio import AbstractEventLoop, Future, _get_running_loop
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future as ThreadFuture
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Any

from tidemark._calls.call_id import CONTEXT_VARIABLE, CallIds
from tidemark._calls.calls import AskedToEndError
from tidemark._calls.executor import Executor, Jobs
from tidemark._calls.queue import Row
from tidemark._calls.threads import Threads

_COPIED = frozenset({dict, list})


class Call(Jobs):
    """A call that runs, as its context knows it: `call_id` calls it, and the executor adds jobs to it.

    It is one object for both, because each variable of a context costs every call some time.
    """

    __slots__ = ("_ids", "row")

    def __init__(self, row: Row, ids: CallIds) -> None:
        super().__init__()
        self.row = row
        self._ids = ids

    def __call__(self) -> str:
        """The id of the call."""
        row = self.row
        if row.id is None:
            row.id = self._ids.new(row.inputs)
        return row.id


class Caller:
    """Calls a function, in the loop or in threads. Every public method runs in the loop's thread."""

    def __init__(
        self,
        function: Callable[..., Any],
        is_async: bool,
        loop: AbstractEventLoop,
        executor: Executor,
        threads: Threads,
        ids: CallIds,
        hold: Callable[[Future[Any], Row], None],
    ) -> None:
        """Makes no call yet.

        Args:
            function: What is called, with all that it is given before its inputs.
            is_async: Whether it is called in the loop, or else in threads.
            loop: The loop.
            executor: The loop's, which is told which call a job is of.
            threads: Where a plain function is called.
            ids: Makes the ids of the calls that ask for one.
            hold: Is told of a job that a call has given after it has ended.
        """
        self._function = function
        self._loop = loop
        self._executor = executor
        self._threads = threads
        self._ids = ids
        self._hold = hold
        self._open: dict[Future[Any], Call] = {}
        # Not a global one, which would not be sent to the workers.
        self._id: ContextVar[Call] = ContextVar(CONTEXT_VARIABLE)
        self._context = copy_context()
        self.begin: Callable[[Row], Future[Any]] = self._in_loop if is_async else self._in_threads
        """Begins the call of a row."""

    def left_by(self, future: Future[Any]) -> Iterable[Future[Any]]:
        """What goes on in threads of a call that has ended."""
        call = self._open.pop(future, None)
        jobs = None if call is None else call.leave(self._given_late)
        return [self._end_of(job) for job in jobs] if jobs else ()

    def _given_late(self, call: Jobs, job: ThreadFuture[Any]) -> None:
        if _get_running_loop() is self._loop:
            self._hold_late(call, job)
            return
        # A thread of the call gives it: it is held before that thread's end is told.
        with suppress(RuntimeError):
            # The loop may have ended, and then no slot is left to keep.
            self._loop.call_soon_threadsafe(self._hold_late, call, job)

    def _hold_late(self, call: Jobs, job: ThreadFuture[Any]) -> None:
        if isinstance(call, Call):
            self._hold(self._end_of(job), call.row)

    def _end_of(self, job: ThreadFuture[Any]) -> Future[Any]:
        return asyncio.wrap_future(job, loop=self._loop)

    def _in_loop(self, row: Row) -> Future[Any]:
        call = Call(row, self._ids)
        # A task for each call, and the same context for all: what a call leaves there, no other one sees.
        task = self._context.run(self._loop.create_task, self._awaited(call))
        self._open[task] = call
        return task

    async def _awaited(self, call: Call) -> object:
        self._executor.begin(call)
        try:
            return await self._function(*_own(call.row.inputs))
        except (SystemExit, KeyboardInterrupt) as error:
            # These two would end the loop, and with it all other calls.
            raise AskedToEndError from error

    def _in_threads(self, row: Row) -> Future[Any]:
        return self._threads.call(self._in_thread, (row,))

    def _in_thread(self, row: Row) -> object:
        self._id.set(Call(row, self._ids))
        return self._function(*_own(row.inputs))


def calling(function: Callable[..., Any], opened: Sequence[object]) -> Callable[..., Any]:
    """The function with what it is given before its inputs."""
    return functools.partial(function, *opened) if opened else function


def _own(inputs: Sequence[object]) -> Sequence[object]:
    """The inputs for one call: what it does to a list or a dictionary, the next one must not see."""
    if _COPIED.isdisjoint(map(type, inputs)):
        return inputs
    return [copy.deepcopy(value) if type(value) in _COPIED else value for value in inputs]
