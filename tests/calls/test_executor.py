"""Threads that an async function of `map_async` awaits: they count as calls in flight. No Spark."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import CancelledError, Future
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import Any

import pytest
from support.async_calls import IDS, STATS, call_all, rules
from support.raising import raising

from tidemark._calls.calls import Calls
from tidemark._calls.executor import Executor, Jobs
from tidemark._calls.queue import NO_KEY
from tidemark._calls.task import results
from tidemark._calls.worker import Worker
from tidemark.errors import error_parameters


class Slow:
    """A service that takes its time, and notes how many it serves at one time."""

    def __init__(self, seconds: float = 0.15) -> None:
        self.most = 0
        self.ended: list[int] = []
        self._seconds = seconds
        self._now = 0
        self._lock = threading.Lock()

    def serve(self, value: int) -> int:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(self._seconds)
        with self._lock:
            self._now -= 1
            self.ended.append(value)
        return value


def lost(error: BaseException, value: int) -> int:
    return -1


Calling = Callable[[Slow, int], Any]


async def to_thread(slow: Slow, value: int) -> int:
    return await asyncio.to_thread(slow.serve, value)


async def in_the_executor(slow: Slow, value: int) -> int:
    return await asyncio.get_running_loop().run_in_executor(None, slow.serve, value)


async def several(slow: Slow, value: int) -> int:
    await asyncio.gather(*(asyncio.to_thread(slow.serve, value) for _ in range(3)))
    return value


async def in_a_task(slow: Slow, value: int) -> int:
    return await asyncio.create_task(to_thread(slow, value))


async def shielded(slow: Slow, value: int) -> int:
    return await asyncio.shield(to_thread(slow, value))


async def for_a_while(slow: Slow, value: int) -> int:
    return await asyncio.wait_for(asyncio.to_thread(slow.serve, value), 0.05)


@pytest.mark.parametrize(
    "calling", [to_thread, in_the_executor, several, in_a_task, shielded, for_a_while]
)
@pytest.mark.parametrize(("timeout", "retries"), [(0.05, 0), (0.05, 1), (60.0, 0)])
def test_a_service_never_sees_more_calls_in_threads_than_allowed(
    calling: Calling, timeout: float, retries: int
) -> None:
    slow = Slow()

    async def call(value: int) -> int:
        return int(await calling(slow, value))

    # A call that was given up goes on in its thread, beside which no other one may begin.
    found = call_all(
        call, [list(range(5))], concurrency=2, timeout=timeout, retries=retries, on_error=lost
    )
    are_given_up = timeout < 1 or calling is for_a_while
    assert found == [[-1] * 5 if are_given_up else list(range(5))]
    assert slow.most <= 2


def test_calls_have_a_thread_each_and_do_not_wait_for_one() -> None:
    together = threading.Barrier(64)

    async def call(value: int) -> int:
        await asyncio.to_thread(together.wait, 60)
        return value

    assert call_all(call, [list(range(64))], concurrency=64) == [list(range(64))]


def test_a_result_does_not_wait_for_a_thread_that_was_left_but_the_next_call_does() -> None:
    slow, begun_after = Slow(), []

    async def call(value: int) -> int:
        begun_after.append(list(slow.ended))
        with suppress(asyncio.TimeoutError):
            await for_a_while(slow, value)
        return value

    rows = [[(NO_KEY, (value,))] for value in range(3)]
    own = rules(concurrency=1)
    running = results(rows, lambda: Worker(own, call, True, None, IDS, STATS), least=1000)
    assert [found for _, found in running] == [[0], [1], [2]]
    assert begun_after == [[], [0], [0, 1]]


def test_a_thread_that_is_begun_when_its_call_has_ended_has_a_slot_too() -> None:
    slow, begun_after = Slow(), []
    left: list[Any] = []

    async def call(value: int) -> int:
        begun_after.append(list(slow.ended))
        if value == 0:
            go, begun = asyncio.Event(), asyncio.Event()

            async def later() -> None:
                await go.wait()
                begun.set()
                await to_thread(slow, value)

            left.extend([asyncio.create_task(later()), go, begun])
        if value == 1:
            _, go, begun = left
            go.set()
            await begun.wait()
        return value

    assert call_all(call, [[0, 1, 2]], concurrency=1) == [[0, 1, 2]]
    assert begun_after == [[], [], [0]]


def test_the_next_call_of_a_key_waits_for_all_threads_of_the_one_before() -> None:
    slow, begun_after = Slow(), []

    async def call(value: int) -> int:
        begun_after.append(list(slow.ended))
        if value == 0:
            for _ in range(2):
                with suppress(asyncio.TimeoutError):
                    await for_a_while(slow, value)
        return value

    key: Hashable = ("key",)
    own = rules(concurrency=8)
    running = results(
        [[(key, (value,)) for value in range(2)]],
        lambda: Worker(own, call, True, None, IDS, STATS),
    )
    assert [found for _, found in running] == [[0, 1]]
    assert begun_after == [[], [0, 0]]


@pytest.mark.parametrize("gives_up", ["by the time-out", "by itself", "by itself without any"])
def test_when_threads_that_never_end_hold_all_slots_the_task_ends(
    gives_up: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limit_without_timeout(monkeypatch, 0.1)
    release, begun = threading.Event(), []

    async def call(value: int) -> int:
        begun.append(value)
        thread = asyncio.to_thread(release.wait, 60)
        await (thread if gives_up == "by the time-out" else asyncio.wait_for(thread, 0.05))
        return value

    own = rules(
        concurrency=2, timeout=None if "any" in gives_up else 0.1, on_error=lost, origin=gives_up
    )
    worker = Worker(own, call, True, None, IDS, STATS, patience=0.0)
    rows = [[(NO_KEY, (value,)) for value in range(5)]]
    try:
        with raising("ASYNC_SLOTS_STUCK", slots="all 2 slots", seconds=0.1):
            list(results(rows, lambda: worker))
        assert begun == [0, 1]
        assert not worker._thread.is_alive()
    finally:
        release.set()


def test_a_call_without_a_time_out_does_not_wait_forever_for_a_thread_that_never_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_limit_without_timeout(monkeypatch, 0.1)
    release, are_held = threading.Event(), asyncio.Event()

    async def call(value: int) -> int:
        if value == 1:
            await are_held.wait()
            await asyncio.to_thread(int)
            return value
        both = [asyncio.to_thread(release.wait, 60) for _ in range(2)]
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.gather(*both), 0.05)
        are_held.set()
        return value

    own = rules(concurrency=2, timeout=None, origin="held")
    try:
        with raising("ASYNC_SLOTS_STUCK", inputs="user=0"):
            list(
                results(
                    [[(NO_KEY, (value,)) for value in range(2)]],
                    lambda: Worker(own, call, True, None, IDS, STATS),
                )
            )
    finally:
        release.set()


def test_threads_that_outlive_their_task_keep_their_slots_in_the_next_one() -> None:
    release, begun = threading.Event(), []

    async def call(value: int) -> int:
        begun.append(value)
        if value < 2:
            await asyncio.to_thread(release.wait, 60)
        return value

    def task(*values: int, timeout: float = 60.0) -> list[Any]:
        own = rules(concurrency=2, timeout=timeout, on_error=lost, origin="outlived")
        start = lambda: Worker(own, call, True, None, IDS, STATS, patience=0.0)  # noqa: E731
        ((_, found),) = results([[(NO_KEY, (value,)) for value in values]], start)
        return found

    before = set(threading.enumerate())
    try:
        assert task(0, 1, timeout=0.1) == [-1, -1]
        with raising("ASYNC_SLOTS_STUCK", inputs="inputs of an earlier task"):
            task(2, timeout=0.1)
    finally:
        release.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(30)
    assert task(3, 4) == [3, 4]
    assert begun == [0, 1, 3, 4]


def test_a_thread_that_the_service_keeps_for_itself_takes_none_of_the_calls() -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[str]:
        is_closed = threading.Event()
        kept = asyncio.create_task(asyncio.to_thread(is_closed.wait, 60))
        yield await asyncio.to_thread(str, "client")
        is_closed.set()
        await kept

    async def call(client: str, value: int) -> str:
        return await asyncio.to_thread("{} {}".format, client, value)

    own = {"concurrency": 2, "timeout": 30.0}
    assert call_all(call, [[1, 2]], service=opened, **own) == [["client 1", "client 2"]]


def waiting_for(coroutine: Any, loop: asyncio.AbstractEventLoop) -> Any:
    """As blocking code that asks an async client does, in a thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)


async def in_threads(give: Any, depth: int, value: int) -> int:
    """Awaits a thread that waits for a thread, and so on."""
    loop = asyncio.get_running_loop()
    inner = [in_threads(give, depth - 1, value) for _ in range(2 if depth else 0)]
    for coroutine in inner:
        await give(waiting_for, coroutine, loop)
    return int(await give(int, value))


async def given(function: Callable[..., Any], *inputs: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, function, *inputs)


@pytest.mark.parametrize("give", [asyncio.to_thread, given])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_thread_that_waits_for_another_thread_has_its_answer(give: Any, concurrency: int) -> None:
    async def call(value: int) -> int:
        return await in_threads(give, 3, value)

    found = call_all(call, [list(range(6))], concurrency=concurrency, timeout=None)
    assert found == [list(range(6))]


def test_a_plain_function_that_waits_for_threads_of_the_loop_has_its_answer() -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[asyncio.AbstractEventLoop]:
        yield asyncio.get_running_loop()

    def call(loop: asyncio.AbstractEventLoop, value: int) -> int:
        return int(waiting_for(in_threads(asyncio.to_thread, 3, value), loop))

    found = call_all(call, [list(range(6))], concurrency=1, timeout=None, service=opened)
    assert found == [list(range(6))]


def test_inner_threads_run_one_after_another_for_each_outer_one() -> None:
    slow = Slow(0.01)

    async def call(value: int) -> int:
        inner = (to_thread(slow, value) for _ in range(9))
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(waiting_for, gathered(inner), loop)
        return value

    async def gathered(coroutines: Any) -> None:
        await asyncio.gather(*coroutines)

    assert call_all(call, [[1, 2, 3, 4]], concurrency=2, timeout=None) == [[1, 2, 3, 4]]
    assert slow.most <= 2


def test_a_service_that_keeps_many_threads_waits_for_none_of_them() -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[str]:
        is_closed = threading.Event()
        kept = [asyncio.create_task(asyncio.to_thread(is_closed.wait, 60)) for _ in range(9)]
        await asyncio.sleep(0)
        yield await asyncio.to_thread(str, "client")
        is_closed.set()
        await asyncio.gather(*kept)

    async def call(client: str, value: int) -> str:
        return await asyncio.to_thread("{} {}".format, client, value)

    found = call_all(call, [[1]], service=opened, concurrency=1, timeout=30.0)
    assert found == [["client 1"]]


def test_a_call_sees_nothing_that_another_one_has_left_in_its_context() -> None:
    own: ContextVar[int] = ContextVar("own")
    slow, seen = Slow(), []
    go, begun = asyncio.Event(), asyncio.Event()
    tasks = []

    async def later() -> None:
        await go.wait()
        begun.set()
        await to_thread(slow, 0)

    async def call(value: int) -> int:
        seen.append(own.get(None))
        if value == 0:
            own.set(value)
            tasks.append(asyncio.create_task(later()))
        if value == 1:
            # The first call has ended, and now begins a thread. When that ends, the third call begins.
            go.set()
            await begun.wait()
        return value

    assert call_all(call, [[0, 1, 2]], concurrency=1) == [[0, 1, 2]]
    assert seen == [None] * 3


def test_a_thread_that_raises_stop_iteration_does_not_hold_its_call() -> None:
    async def call(value: int) -> int:
        return int(await asyncio.to_thread(next, iter(())))

    with raising("ASYNC_CALL_FAILED") as raised:
        call_all(call, [[1]])
    assert "raised StopIteration" in error_parameters(raised.value)["error"]


def test_the_executor_ends_its_threads_and_what_waits_for_one() -> None:
    executor, jobs = Executor(1, "tests"), Jobs()
    begun, release = threading.Event(), threading.Event()

    def hold() -> bool:
        begun.set()
        return release.wait(60)

    def give() -> list[Any]:
        executor.begin(jobs)
        return [executor.submit(hold), executor.submit(int)]

    before = set(threading.enumerate())
    running, waiting = copy_context().run(give)
    assert begun.wait(60)
    assert set(jobs.leave(lambda jobs, job: None)) == {running, waiting}
    executor.shutdown(wait=False, cancel_futures=True)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="the task has ended"):
        executor.submit(int)
    release.set()
    executor.shutdown(wait=True)
    assert running.result(0) is True
    assert set(threading.enumerate()) <= before


def test_the_executor_runs_no_inner_job_that_waits_when_it_is_ended() -> None:
    executor = Executor(1, "tests")
    begun, release, ran = threading.Event(), threading.Event(), []
    given: list[Any] = []

    def hold() -> None:
        begun.set()
        release.wait(60)

    def outer() -> None:
        given.append(executor.submit(hold))
        given.append(executor.submit(ran.append, 1))
        given[0].result(60)

    def give() -> Any:
        executor.begin(Jobs())
        return executor.submit(outer)

    running = copy_context().run(give)
    assert begun.wait(60)
    while len(given) < 2:
        time.sleep(0)
    executor.shutdown(wait=False, cancel_futures=True)
    release.set()
    running.result(60)
    with pytest.raises(CancelledError):
        given[1].result(60)
    assert ran == []


def test_each_job_is_answered_for_once_while_its_call_is_left() -> None:
    each = 4
    for _ in range(300):
        jobs, late, begin = Jobs(), list[Any](), threading.Barrier(2)
        jobs.add(Future())

        def give(jobs: Jobs = jobs, begin: threading.Barrier = begin) -> None:
            begin.wait(60)
            for _ in range(each):
                jobs.add(Future())

        def note(_: Jobs, job: Any, late: list[Any] = late) -> None:
            late.append(job)

        thread = threading.Thread(target=give)
        thread.start()
        begin.wait(60)
        left = jobs.leave(note)
        thread.join(60)
        assert len({*left, *late}) == len(left) + len(late) == each + 1


def test_a_job_that_a_thread_gives_after_its_call_has_timed_out_is_held_in_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, begun_after = Slow(), []
    timed_out, holders = threading.Event(), list[threading.Thread]()
    hold = Calls.hold

    def noted(self: Calls, *arguments: Any) -> None:
        holders.append(threading.current_thread())
        hold(self, *arguments)

    monkeypatch.setattr(Calls, "hold", noted)

    def outer(loop: asyncio.AbstractEventLoop, value: int) -> None:
        timed_out.wait(60)
        loop.run_in_executor(None, slow.serve, value)

    loops = []

    async def call(value: int) -> int:
        loops.append(threading.current_thread())
        begun_after.append(list(slow.ended))
        if value == 0:
            await asyncio.to_thread(outer, asyncio.get_running_loop(), value)
        return value

    def give_up(error: BaseException, value: int) -> int:
        timed_out.set()
        return -1

    found = call_all(call, [[0, 1]], concurrency=1, timeout=0.05, on_error=give_up)
    assert found == [[-1, 1]]
    assert begun_after == [[], [0]]
    assert holders
    assert set(holders) == set(loops)


def set_limit_without_timeout(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    # As `set_seconds`: a test that loads what is sent to workers gives the class other globals.
    limit = Calls.__init__.__globals__["may_go_on"]
    monkeypatch.setitem(limit.__globals__, "NO_TIMEOUT_SECONDS", seconds)
