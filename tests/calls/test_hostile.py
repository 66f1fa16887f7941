"""Functions and services of `map_async` that do what they must not: errors have a name, and nothing goes on."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pyarrow as pa
import pytest
from support.async_calls import IDS, RULES, STATS, call_all, rules, set_seconds
from support.raising import raising

from tidemark import TidemarkError
from tidemark._calls.arrow import columns
from tidemark._calls.errors import described, reason_of
from tidemark._calls.queue import NO_KEY
from tidemark._calls.task import results
from tidemark._calls.worker import Worker
from tidemark.errors import error_parameters


class Kept:
    """A service that notes how it is closed, and that every call which has begun has ended before."""

    def __init__(self) -> None:
        self.is_closed = False
        self.flying = 0

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Kept]:
        yield self
        assert self.flying == 0
        self.is_closed = True


async def ends_the_loop(service: Kept) -> None:
    asyncio.get_running_loop().stop()


async def asks_to_exit_in_a_task_of_its_own(service: Kept) -> None:
    async def leave() -> None:
        sys.exit(3)

    service.task = asyncio.create_task(leave())  # type: ignore[attr-defined]


async def interrupts_in_a_callback(service: Kept) -> None:
    def leave() -> None:
        raise KeyboardInterrupt

    asyncio.get_running_loop().call_soon(leave)


async def cancels_all_tasks(service: Kept) -> None:
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (ends_the_loop, "Event loop stopped"),
        (asks_to_exit_in_a_task_of_its_own, "SystemExit: 3"),
        (interrupts_in_a_callback, "KeyboardInterrupt"),
        (cancels_all_tasks, "CancelledError"),
    ],
)
def test_what_ends_the_loop_is_named_and_calls_and_service_are_closed(
    attack: Any, message: str
) -> None:
    service = Kept()

    async def call(opened: Kept, value: int) -> int:
        opened.flying += 1
        try:
            if value == 7:
                await attack(opened)
            await asyncio.Event().wait()
        finally:
            opened.flying -= 1
        return value

    with raising("ASYNC_LOOP_STOPPED") as raised:
        call_all(call, [list(range(8))], service=service.opened)
    assert re.search(message, error_parameters(raised.value)["error"])
    assert service.is_closed


def test_a_service_that_has_ended_the_loop_is_named() -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[str]:
        asyncio.get_running_loop().call_later(0.01, sys.exit, 4)
        yield "client"

    async def call(client: str, value: int) -> int:
        await asyncio.Event().wait()
        return value

    with raising("ASYNC_LOOP_STOPPED", error="SystemExit: 4"):
        call_all(call, [[1]], service=opened)


def test_closing_the_loop_or_running_another_one_in_it_is_an_error_of_the_call() -> None:
    async def other() -> None: ...

    async def closes(value: int) -> None:
        asyncio.get_running_loop().close()

    async def runs_another(value: int) -> None:
        coroutine = other()
        try:
            asyncio.run(coroutine)
        finally:
            coroutine.close()

    for call, message in (
        (closes, "Cannot close a running"),
        (runs_another, "cannot be called from"),
    ):
        with raising("ASYNC_CALL_FAILED", inputs="user=1") as raised:
            call_all(call, [[1]])
        assert message in error_parameters(raised.value)["error"]


def test_tasks_that_ignore_their_cancelling_do_not_hold_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_seconds(monkeypatch, "_CLOSING_SECONDS", 0.05)
    left: list[Any] = []

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    async def endless() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.Event().wait()

    async def call(value: int) -> int:
        left.append(asyncio.create_task(stubborn()))
        generator = endless()
        left.append(generator)
        return await anext(generator)

    assert call_all(call, [[1]]) == [[1]]


def test_a_child_that_waits_for_a_lock_of_another_thread_is_a_call_that_does_not_end() -> None:
    lock, is_held, release = threading.Lock(), threading.Event(), threading.Event()
    children = []

    def call(value: int) -> int:
        if value == 0:
            with lock:
                is_held.set()
                release.wait(60)
            return value
        assert is_held.wait(60)
        child = os.fork()
        if child == 0:
            # The thread that would release it is not in this process.
            lock.acquire()
            os._exit(0)
        children.append(child)
        return os.waitpid(child, 0)[1]

    before = set(threading.enumerate())
    own = rules(concurrency=2, timeout=0.2, on_error=lambda error, value: -1)
    try:
        rows = [[(NO_KEY, (value,)) for value in range(2)]]
        ((_, found),) = results(rows, lambda: Worker(own, call, False, None, IDS, STATS))
        assert found == [-1, -1]
    finally:
        release.set()
        for child in children:
            os.kill(child, signal.SIGKILL)
        for thread in set(threading.enumerate()) - before:
            thread.join(30)


def column_of(function: Any, kind: pa.DataType, *values: Any, **changed: Any) -> list[Any]:
    own = rules(**changed)
    is_async = asyncio.iscoroutinefunction(function)
    start = lambda: Worker(own, function, is_async, None, IDS, STATS)  # noqa: E731
    (column,) = columns([[pa.array(values)]], own, kind, False, start)
    return list(column.to_pylist())


class NoTextError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class NoText:
    def __repr__(self) -> str:
        raise NoTextError


def test_a_result_that_is_still_to_be_read_is_named() -> None:
    async def later() -> int:
        return 1

    async def a_coroutine(value: int) -> Any:
        coroutines.append(later())
        return coroutines[-1]

    async def an_async_generator(value: int) -> AsyncIterator[int]:
        yield value

    def a_generator(value: int) -> Iterator[Any]:
        yield "no number"

    coroutines: list[Any] = []
    for call, kind in [
        (a_coroutine, pa.string()),
        (an_async_generator, pa.list_(pa.int64())),
        (an_async_generator, pa.list_(pa.bool_())),
        (a_generator, pa.list_(pa.int64())),
        (lambda value: map(str, [value]), pa.list_(pa.string())),
        (lambda value: NoText(), pa.bool_()),
        (lambda value: NoText(), pa.struct({"a": pa.bool_()})),
        (lambda value: {"a": NoText()}, pa.struct({"a": pa.bool_()})),
    ]:
        with raising("ASYNC_RESULT_TYPE", inputs="user=1", dataType=kind):
            column_of(call, kind, 1)
    for coroutine in coroutines:
        coroutine.close()


@pytest.mark.parametrize("is_async", [True, False])
def test_a_call_that_changes_its_inputs_changes_no_other_call_and_no_message(
    is_async: bool,
) -> None:
    def call(order: dict[str, Any]) -> int:
        items = order.pop("items")
        items.append(items[0])
        if len(items) != 2 or order:
            raise AssertionError(f"changed before: {items}, {order}")
        raise OSError("away")

    async def in_the_loop(order: dict[str, Any]) -> int:
        return call(order)

    values = pa.array([{"items": [7]}])
    own = rules(retries=3)
    start = lambda: Worker(own, in_the_loop if is_async else call, is_async, None, IDS, STATS)  # noqa: E731
    parameters = {"attempts": 4, "inputs": "user={'items': [7]}", "error": "OSError: away"}
    with raising("ASYNC_CALL_FAILED", **parameters):
        list(columns([[values]], own, pa.int64(), False, start))


@pytest.mark.more
def test_results_that_are_too_large_for_one_batch_are_named() -> None:
    text = "x" * 2**28
    with raising("ASYNC_RESULT_TYPE", dataType="string"):
        column_of(lambda value: text, pa.string(), *range(8))


def test_a_message_is_short_however_long_an_input_or_an_error_is() -> None:
    def call(value: str) -> None:
        raise ValueError(value)

    with pytest.raises(TidemarkError) as raised:
        column_of(call, pa.int64(), "x" * 10**6)
    assert raised.value.code == "ASYNC_CALL_FAILED"
    assert len(str(raised.value)) < 3000

    class Huge(str):
        __slots__ = ()

        def __repr__(self) -> str:
            raise AssertionError("a text of such a length is not made")

    assert described(["a", "b"], [Huge("y" * 10**6), 1]).startswith("a='yyy")
    assert described(["a"], [b"z" * 10**6]).startswith("a=b'zzz")
    assert len(reason_of(ValueError("x" * 10**6))) < 1100


def test_an_error_that_cannot_be_pickled_or_formatted_is_named() -> None:
    class UnpicklableError(Exception):
        def __init__(self, lock: Any) -> None:
            super().__init__(lock)
            self.lock = lock

        def __reduce__(self) -> Any:
            raise TypeError("never")

    def call(value: int) -> None:
        raise UnpicklableError(threading.Lock()) if value == 1 else NoTextError

    for value, message in (1, "UnpicklableError: <unlocked"), (2, "NoTextError: its text cannot"):
        with pytest.raises(TidemarkError, match=message) as raised:
            column_of(call, pa.int64(), value)
        assert raised.value.code == "ASYNC_CALL_FAILED"
        # As Spark's worker tells the driver of it.
        assert message.split(":")[0] in "".join(traceback.format_exception(raised.value))


def test_a_service_whose_opening_hangs_is_cancelled_and_leaves_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = []

    @asynccontextmanager
    async def never_open() -> AsyncIterator[str]:
        try:
            await asyncio.Event().wait()
            yield "client"
        finally:
            ended.append("opening")

    async def call(client: str, value: int) -> int:
        return value

    set_seconds(monkeypatch, "_OPENING_SECONDS", 0.05)
    with raising("ASYNC_SERVICE_FAILED"):
        call_all(call, [[1]], service=never_open)
    assert ended == ["opening"]


def test_a_service_that_blocks_while_it_is_closed_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    set_seconds(monkeypatch, "_CLOSING_SECONDS", 0.02)
    release = threading.Event()

    @contextmanager
    def blocking() -> Iterator[str]:
        yield "client"
        release.wait(60)

    @asynccontextmanager
    async def stubborn() -> AsyncIterator[str]:
        yield "client"
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    async def call(client: str, value: int) -> int:
        return value

    for service in blocking, stubborn:
        release.clear()
        worker = Worker(RULES, call, True, service, IDS, STATS)
        try:
            ((_, found),) = results([[(NO_KEY, (1,))]], lambda: worker)  # noqa: B023
            assert found == [1]
            assert "could not be closed: TimeoutError: " in caplog.messages[-1]
        finally:
            release.set()
            worker._thread.join(30)
        assert not worker._thread.is_alive()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()])
def test_a_service_that_asks_the_program_to_end_when_it_is_opened_is_named(
    error: BaseException,
) -> None:
    @asynccontextmanager
    async def at_its_opening() -> AsyncIterator[str]:
        raise error
        yield "client"

    async def call(client: str, value: int) -> int:
        return value

    with raising("ASYNC_SERVICE_FAILED") as raised:
        call_all(call, [[1]], service=at_its_opening)
    assert error_parameters(raised.value)["error"].startswith(type(error).__name__)


def test_a_task_that_is_interrupted_while_it_waits_ends_its_calls_and_threads() -> None:
    ended = []

    async def call(value: int) -> int:
        if value == 2:
            os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(value)
        return value

    # A process of tests that run beside others may ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            call_all(call, [[1, 2]])
    finally:
        signal.signal(signal.SIGINT, before)
    assert sorted(ended) == [1, 2]


def test_a_task_whose_rows_cannot_be_read_any_further_ends_its_calls_and_threads() -> None:
    ended, begun = [], threading.Event()

    async def call(value: int) -> int:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(value)
        return value

    def rows() -> Iterator[list[int]]:
        yield [1]
        assert begun.wait(60)
        raise OSError("the shuffle is gone")

    with pytest.raises(OSError, match="the shuffle is gone"):
        call_all(call, rows())
    assert ended == [1]
