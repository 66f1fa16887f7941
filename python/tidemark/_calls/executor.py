"""Where an async function's threads run: those of `asyncio.to_thread` and `run_in_executor(None, ...)`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, cast

from tidemark._calls.threads import CallThread

_Job = tuple["Future[Any]", Callable[[], Any]]


class Jobs:
    """What one call has given to threads, as far as it has not ended."""

    def __init__(self) -> None:
        self._open: set[Future[Any]] = set()
        self._late: Callable[[Future[Any]], None] | None = None

    def add(self, job: Future[Any]) -> None:
        """Takes a job that the call has given, or something that it has left running."""
        if self._late is not None:
            self._late(job)
            return
        self._open.add(job)
        job.add_done_callback(self._open.discard)

    def leave(self, late: Callable[[Future[Any]], None]) -> list[Future[Any]]:
        """The jobs that have not ended when their call has.

        Args:
            late: Is told of each job that is given later.
        """
        self._late = late
        return [job for job in list(self._open) if not job.done()]


class Executor(ThreadPoolExecutor):
    """The default executor of a loop, which knows what each call has given to it.

    Calls have at most so many threads, and what no call has given has others: a service that keeps a
    thread for itself takes none of theirs. Threads of the standard library's executor would keep the
    process from ending, and the next task would not know of them.
    """

    def __init__(self, most: int, origin: str) -> None:
        """Starts no thread yet.

        Args:
            most: How many threads calls have, and the same number for all else.
            origin: What `outlived` finds the threads of calls by.
        """
        # Only for what asks an executor of this type: it never starts a thread of its own.
        super().__init__(max_workers=most)
        # Not a global one, which would not be sent to the workers.
        self._jobs_of_call: ContextVar[Jobs] = ContextVar("tidemark.jobs")
        self._of_calls = _Pool(most, origin)
        self._of_others = _Pool(most, None)

    def begin(self, jobs: Jobs) -> None:
        """Says that what this context gives from now on are the jobs of a call."""
        self._jobs_of_call.set(jobs)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        jobs = self._jobs_of_call.get(None)
        pool = self._of_others if jobs is None else self._of_calls
        job: Future[Any] = Future()
        pool.add(job, partial(fn, *args, **kwargs))
        if jobs is not None:
            jobs.add(job)
        return job

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for pool in (self._of_calls, self._of_others):
            pool.close(wait, cancel_futures)


class _Pool:
    """At most so many threads, each started when no other is idle."""

    def __init__(self, most: int, origin: str | None) -> None:
        self._most = most
        self._origin = origin
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        # Threads that wait for a job, less jobs in the queue.
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._is_closed = False

    def add(self, job: Future[Any], function: Callable[[], Any]) -> None:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the task has ended, so it starts no further thread")
            if self._idle <= 0 and len(self._threads) < self._most:
                # A daemon: a thread that never ends must not keep the worker alive.
                thread = CallThread(target=self._run, name="tidemark-executor", daemon=True)
                thread.start()
                self._threads.append(thread)
            else:
                self._idle -= 1
            self._jobs.put((job, function))

    def close(self, waits: bool, cancels: bool) -> None:
        with self._lock:
            self._is_closed = True
            if cancels:
                self._cancel_all()
            for _ in self._threads:
                self._jobs.put(None)
        if waits:
            for thread in self._threads:
                thread.join()

    def _cancel_all(self) -> None:
        while True:
            try:
                waiting = self._jobs.get_nowait()
            except Empty:
                return
            if waiting is not None:
                waiting[0].cancel()

    def _run(self) -> None:
        this = cast(CallThread, threading.current_thread())
        while (waiting := self._jobs.get()) is not None:
            job, function = waiting
            if job.set_running_or_notify_cancel():
                this.calls_for = self._origin
                result, error = _outcome(function)
                this.calls_for = None
                self._became_idle()
                if error is None:
                    job.set_result(result)
                else:
                    job.set_exception(error)
                del result, error
            else:
                self._became_idle()
            del waiting, job, function

    def _became_idle(self) -> None:
        with self._lock:
            self._idle += 1


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
