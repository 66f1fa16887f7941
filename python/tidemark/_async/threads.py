"""Where plain functions run: threads that no call which never returns can hold the process with."""

from __future__ import annotations

import threading
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

_Job = tuple[Callable[..., Any], tuple[object, ...], "Future[Any]"]


class Threads:
    """As many threads as there are calls at one time.

    A call that has timed out keeps its thread until it returns, and the next call gets another one.
    Threads of the standard library's executor would keep the process from ending.
    """

    def __init__(self, loop: AbstractEventLoop, name: str) -> None:
        self._loop = loop
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        # Only the loop's thread changes it: threads that wait for a job, less jobs in the queue.
        self._idle = 0
        self._threads: list[threading.Thread] = []

    def call(self, function: Callable[..., Any], inputs: tuple[object, ...]) -> Future[Any]:
        """Calls the function in a thread. To be called in the loop's thread."""
        future: Future[Any] = self._loop.create_future()
        if self._idle:
            self._idle -= 1
        else:
            # A daemon: a call that never returns must not keep the worker alive.
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            thread.start()
            self._threads.append(thread)
        self._jobs.put((function, inputs, future))
        return future

    def close(self) -> None:
        """Ends the threads: at once those that are idle, the others when their calls return."""
        for _ in self._threads:
            self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, inputs, future = job
            result: Any = None
            error: BaseException | None = None
            try:
                result = function(*inputs)
            except BaseException as raised:  # noqa: BLE001
                error = raised
            try:
                self._loop.call_soon_threadsafe(self._ended, future, result, error)
            except RuntimeError:
                # The loop was closed while this call went on: nobody waits for it.
                return
            del job, function, inputs, future, result, error

    def _ended(self, future: Future[Any], result: object, error: BaseException | None) -> None:
        self._idle += 1
        if future.cancelled():
            return
        if error is None:
            future.set_result(result)
        elif isinstance(error, StopIteration):
            # A future cannot hold one.
            future.set_exception(RuntimeError("the function raised StopIteration"))
        else:
            future.set_exception(error)
