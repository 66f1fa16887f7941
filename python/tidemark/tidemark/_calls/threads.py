"""Where plain functions run: threads that no call which never returns can hold the process with."""

from __future__ import annotations

import threading
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, cast

_Job = tuple[Callable[..., Any], tuple[object, ...], "Future[Any]"]


class CallThread(threading.Thread):
    """A thread in which calls run."""

    calls_for: str | None = None
    """The origin of the call that it is in."""


def outlived(origin: str) -> list[threading.Thread]:
    """Threads in calls of earlier tasks in this process."""
    # By an attribute: each task has classes of its own, as they are sent by value.
    return [thread for thread in threading.enumerate() if is_calling(thread, origin)]


def is_calling(thread: threading.Thread, origin: str) -> bool:
    """Whether a thread is in a call of any task of that origin."""
    return thread.is_alive() and getattr(thread, "calls_for", None) == origin


class Threads:
    """A thread for each call in flight.

    A call that has timed out keeps its thread until it returns, also when its task has ended. The
    next task in the same process is told of it by `outlived`. Threads of the standard library's
    executor would keep the process from ending.
    """

    def __init__(self, loop: AbstractEventLoop, name: str, origin: str) -> None:
        self._loop = loop
        self._name = name
        self._origin = origin
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
            thread = CallThread(target=self._run, name=self._name, daemon=True)
            thread.start()
            self._threads.append(thread)
        self._jobs.put((function, inputs, future))
        return future

    def close(self) -> None:
        """Ends the threads: idle ones immediately, the others when their calls return."""
        for _ in self._threads:
            self._jobs.put(None)

    def _run(self) -> None:
        this = cast(CallThread, threading.current_thread())
        while (job := self._jobs.get()) is not None:
            function, inputs, future = job
            this.calls_for = self._origin
            result: Any = None
            error: BaseException | None = None
            try:
                result = function(*inputs)
            except BaseException as raised:  # noqa: BLE001
                error = raised
            this.calls_for = None
            try:
                self._loop.call_soon_threadsafe(self._ended, future, result, error)
            except RuntimeError:
                # The loop was closed while this call went on, so its result is not needed.
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
