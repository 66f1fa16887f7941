"""Where an async function's threads run: those of `asyncio.to_thread` and `run_in_executor(None, ...)`."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, cast

from tidemark._calls.call_id import CONTEXT_VARIABLE
from tidemark._calls.threads import CallThread

_LEAST_OF_OTHERS = 32
_Job = tuple["Future[Any]", Callable[[], Any]]


class Jobs:
    """What one call has given to threads, as far as it has not ended.

    Threads of the call add jobs while the loop leaves it. There is no lock, because each call would
    pay for it: a job is in `_open` before `_late` is read, and the thread that removes it handles it.
    """

    __slots__ = ("_late", "_open")

    def __init__(self) -> None:
        # No set yet, because most calls give nothing.
        self._open: set[Future[Any]] | None = None
        self._late: Callable[[Jobs, Future[Any]], None] | None = None

    def add(self, job: Future[Any]) -> None:
        """Takes a job that the call has given, or something that it has left running."""
        if self._open is None:
            self._open = set()
        self._open.add(job)
        job.add_done_callback(self._open.discard)
        if self._late is not None and self._takes(job):
            self._late(self, job)

    def leave(self, late: Callable[[Jobs, Future[Any]], None]) -> list[Future[Any]]:
        """The jobs that have not ended when their call has.

        Args:
            late: Is told of each job that is given later, in the thread that gives it.
        """
        self._late = late
        return [job for job in list(self._open) if self._takes(job)] if self._open else []

    def _takes(self, job: Future[Any]) -> bool:
        try:
            self._open.remove(job)  # type: ignore[union-attr]
        except KeyError:
            return False
        return not job.done()


class Executor(ThreadPoolExecutor):
    """The default executor of a loop, which knows what each call has given to it.

    Calls have at most so many threads, and what no call has given has others: a service that keeps a
    thread for itself takes none of theirs. Threads of the standard library's executor would keep the
    process from ending, and the next task would not know of them.

    The thread of a job may wait for what it has given to the executor itself. While all threads are
    busy, such inner jobs have one more thread, and one after another uses it.
    """

    def __init__(self, most: int, origin: str) -> None:
        """Starts no thread yet.

        Args:
            most: How many threads calls have. All else has at least 32, as in the standard library.
            origin: What `outlived` finds the threads of calls by.
        """
        # Only for what asks an executor of this type: it never starts a thread of its own.
        super().__init__(max_workers=most)
        # Not a global one, which would not be sent to the workers.
        self._jobs_of_call: ContextVar[Jobs] = ContextVar(CONTEXT_VARIABLE)
        self._outer: ContextVar[_Outer] = ContextVar("tidemark.outer")
        self._of_calls = _Pool(most, origin)
        # A service that keeps threads for itself must not wait for one because of `concurrency`.
        self._of_others = _Pool(max(most, _LEAST_OF_OTHERS), None)

    def begin(self, jobs: Jobs) -> None:
        """Says that what this context gives from now on are the jobs of a call."""
        self._jobs_of_call.set(jobs)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        jobs = self._jobs_of_call.get(None)
        pool = self._of_others if jobs is None else self._of_calls
        job: Future[Any] = Future()
        pool.add(job, self._marked(partial(fn, *args, **kwargs)), self._outer.get(None))
        if jobs is not None:
            jobs.add(job)
        return job

    def _marked(self, function: partial[Any]) -> Callable[[], Any]:
        """The function, with a mark in its context, by which the jobs are known that it gives itself."""
        context = getattr(function.func, "__self__", None)
        if not isinstance(context, Context):
            # `asyncio.to_thread` has a context for its thread, and `run_in_executor` has none.
            context = copy_context()
            function = partial(context.run, function)
        with suppress(RuntimeError):
            # A context of the user's own may be in use.
            context.run(self._outer.set, _Outer())
        return function

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for pool in (self._of_calls, self._of_others):
            pool.close(wait, cancel_futures)


class _Outer:
    """A job as its inner jobs know it: those of them that no thread of the pool was idle for."""

    __slots__ = ("has_thread", "inner")

    def __init__(self) -> None:
        self.inner: deque[_Job] = deque()
        self.has_thread = False


class _Pool:
    """At most so many threads, each started when no other is idle, and one for the inner jobs of each job."""

    def __init__(self, most: int, origin: str | None) -> None:
        self._most = most
        self._origin = origin
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        # Threads that wait for a job, less jobs in the queue.
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._is_closed = False
        self._cancels = False

    def add(self, job: Future[Any], function: Callable[[], Any], outer: _Outer | None) -> None:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the task has ended, so it starts no further thread")
            if self._idle <= 0 and len(self._threads) < self._most:
                self._threads.append(_started(self._run))
            elif self._idle <= 0 and outer is not None:
                # Not with the others, of which one may be behind the job that waits for this one.
                outer.inner.append((job, function))
                if not outer.has_thread:
                    outer.has_thread = True
                    _started(self._run_inner, outer)
                return
            else:
                self._idle -= 1
            self._jobs.put((job, function))

    def close(self, waits: bool, cancels: bool) -> None:
        with self._lock:
            self._is_closed = True
            self._cancels = cancels
            ended = list(self._waiting()) if cancels else []
            for _ in self._threads:
                self._jobs.put(None)
        # Without the lock: what is told of it may add a job.
        for job in ended:
            job.cancel()
        if waits:
            for thread in self._threads:
                thread.join()

    def _waiting(self) -> Iterator[Future[Any]]:
        while True:
            try:
                waiting = self._jobs.get_nowait()
            except Empty:
                return
            if waiting is not None:
                yield waiting[0]

    def _run(self) -> None:
        while (waiting := self._jobs.get()) is not None:
            self._run_one(*waiting, self._became_idle)
            del waiting

    def _run_inner(self, outer: _Outer) -> None:
        while True:
            with self._lock:
                if not outer.inner:
                    outer.has_thread = False
                    return
                waiting = outer.inner.popleft()
                is_cancelled = self._cancels
            if is_cancelled:
                waiting[0].cancel()
            self._run_one(*waiting, lambda: None)
            del waiting

    def _run_one(
        self, job: Future[Any], function: Callable[[], Any], ended: Callable[[], None]
    ) -> None:
        if not job.set_running_or_notify_cancel():
            ended()
            return
        this = cast(CallThread, threading.current_thread())
        this.calls_for = self._origin
        result, error = _outcome(function)
        this.calls_for = None
        # Before the result is known: who waits for it may give the next job immediately.
        ended()
        if error is None:
            job.set_result(result)
        else:
            job.set_exception(error)

    def _became_idle(self) -> None:
        with self._lock:
            self._idle += 1


def _started(target: Callable[..., None], *arguments: object) -> threading.Thread:
    # A daemon: a thread that never ends must not keep the worker alive.
    thread = CallThread(target=target, args=arguments, name="tidemark-executor", daemon=True)
    thread.start()
    return thread


def _outcome(function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return function(), None
    except StopIteration as error:
        # The loop cannot hand one on, and who awaits it would wait forever.
        stopped = RuntimeError("a function in a thread raised StopIteration")
        stopped.__cause__ = error
        return None, stopped
    except BaseException as error:  # noqa: BLE001
        return None, error
