"""What a task of `map_async` does, in threads and an event loop of its own, without Spark."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, BinaryIO

import pytest
from support.async_calls import IDS, RULES, STATS, call_all, doubled, rules, set_seconds
from support.raising import raising

from tidemark import TidemarkError
from tidemark._calls.errors import sendable
from tidemark._calls.queue import NO_KEY
from tidemark._calls.task import results
from tidemark._calls.worker import Worker
from tidemark.errors import error_parameters


def test_each_batch_has_its_results_in_the_order_of_its_rows() -> None:
    assert call_all(doubled, [[1, 2], [], [3]]) == [[2, 4], [], [6]]


def test_without_rows_no_thread_is_started() -> None:
    assert list(results([[], []], lambda: pytest.fail("started"))) == [([], []), ([], [])]


def test_calls_are_in_flight_together_but_never_more_than_allowed() -> None:
    flying, most = 0, 0
    all_there = asyncio.Event()

    async def call(value: int) -> int:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        # The first calls wait until the most allowed are in flight.
        if flying == 8:
            all_there.set()
        await all_there.wait()
        await asyncio.sleep(0)
        flying -= 1
        return value

    assert call_all(call, [list(range(50)), list(range(50))]) == [list(range(50))] * 2
    assert most == 8


def test_plain_functions_run_in_as_many_threads() -> None:
    together = threading.Barrier(8)
    threads = set()

    def call(value: int) -> int:
        threads.add(threading.current_thread())
        together.wait(30)
        return value

    assert call_all(call, [list(range(64))]) == [list(range(64))]
    assert len(threads) == 8


def test_rows_behind_a_slow_call_are_called_also_in_later_batches() -> None:
    seen: list[int] = []
    last_was_called = asyncio.Event()

    async def call(value: int) -> int:
        seen.append(value)
        if value == 0:
            await last_was_called.wait()
        if value == 29:
            last_was_called.set()
        return value

    assert call_all(call, [list(range(10)), list(range(10, 20)), list(range(20, 30))])[0][0] == 0
    assert set(seen) == set(range(30))


def test_rows_without_inputs_get_a_null_without_a_call_a_slot_or_a_thread() -> None:
    async def call(value: int) -> int:
        return value

    found = call_all(call, [[None, 1, None], [None], [2]], skips_nulls=True)
    assert found == [[None, 1, None], [None], [2]]
    rows = [[("key", (None, None))], [(NO_KEY, (None,))]]
    nulls = list(results(rows, lambda: pytest.fail("started"), skips_nulls=True))
    assert [found for _, found in nulls] == [[None], [None]]
    own = rules(skips_nulls=True)
    half = [[(NO_KEY, (None, 0)), (NO_KEY, (None, None))]]

    def some(first: None, second: int) -> str:
        return f"{first} {second}"

    ((_, values),) = results(
        half, lambda: Worker(own, some, False, None, IDS, STATS), skips_nulls=True
    )
    assert values == ["None 0", None]


def test_calls_go_on_while_the_task_waits_for_rows() -> None:
    called = threading.Event()

    async def call(value: int) -> int:
        called.set()
        return value

    def batches() -> Iterator[list[int]]:
        yield [1]
        assert called.wait(30)
        yield [2]

    assert call_all(call, batches()) == [[1], [2]]


@pytest.mark.parametrize(("least", "expected"), [(2, [0, 1, 2, 3]), (60, [0, 1, 2, 3, 4, 5])])
def test_four_batches_are_read_ahead_or_more_if_they_are_small(
    least: int, expected: list[int]
) -> None:
    read: list[int] = []

    def batches() -> Iterator[list[int]]:
        for n in range(10):
            read.append(n)
            yield [n] * 10

    never = asyncio.Event()

    async def call(value: int) -> int:
        if value == 0:
            await never.wait()
        return value

    with raising("ASYNC_CALL_FAILED", inputs="user=0"):
        call_all(call, batches(), least=least, timeout=0.05)
    assert read == expected


def lost(error: BaseException, value: int) -> int:
    return -1


def test_the_error_of_a_call_and_that_of_on_error_are_both_named() -> None:
    def broken(value: int) -> int:
        raise ValueError("no answer")

    def worse(error: BaseException, value: int) -> int:
        raise ZeroDivisionError("no default")

    with raising("ASYNC_CALL_FAILED") as raised:
        call_all(broken, [[1]], on_error=worse)
    expected = "ValueError: no answer. Then on_error failed: ZeroDivisionError: no default"
    assert error_parameters(raised.value)["error"] == expected


def test_a_call_that_ignores_its_cancelling_keeps_its_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    set_seconds(monkeypatch, "_CLOSING_SECONDS", 0.05)
    begun = []

    async def call(value: int) -> int:
        begun.append(value)
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    with raising("ASYNC_SLOTS_STUCK", slots="all 2 slots", seconds=0.05):
        call_all(call, [[0, 1, 2, 3]], concurrency=2, timeout=0.05, on_error=lost, patience=0.0)
    assert begun == [0, 1]


def test_a_thread_that_never_returns_keeps_its_slot_and_does_not_hold_the_task() -> None:
    release = threading.Event()
    begun = []

    def call(value: int) -> int:
        begun.append(value)
        if value < 2:
            release.wait(60)
        return value

    try:
        before = set(threading.enumerate())
        worker = Worker(
            rules(concurrency=3, timeout=1.0, on_error=lost), call, False, None, IDS, STATS
        )
        rows = [[(NO_KEY, (value,)) for value in range(9)]]
        ((_, found),) = results(rows, lambda: worker)
        assert found == [-1, -1, *range(2, 9)]
        # Two of them never came back, and the third one has called all others.
        left = set(threading.enumerate()) - before
        assert len([thread for thread in left if getattr(thread, "calls_for", None)]) == 2
    finally:
        release.set()


def test_when_all_threads_are_stuck_the_task_ends_and_has_begun_no_other_call() -> None:
    release = threading.Event()
    begun = []

    def call(value: int) -> int:
        begun.append(value)
        release.wait(60)
        return value

    before = set(threading.enumerate())
    own = rules(concurrency=2, timeout=0.1, on_error=lost)
    worker = Worker(own, call, False, None, IDS, STATS, patience=0.0)
    try:
        with pytest.raises(TidemarkError) as raised:
            list(results([[(NO_KEY, (value,)) for value in range(9)]], lambda: worker))
        assert raised.value.code == "ASYNC_SLOTS_STUCK"
    finally:
        release.set()
        for thread in set(threading.enumerate()) - before:
            thread.join(30)
    # A busy machine may not have begun these two when their time was over.
    assert set(begun) <= {0, 1}


def test_calls_that_outlive_their_task_keep_their_slots_in_the_next_one() -> None:
    release = threading.Event()
    begun = []

    def call(value: int) -> int:
        begun.append(value)
        if value < 2:
            release.wait(60)
        return value

    def task(*values: int, origin: str = "one", timeout: float = 60.0) -> list[Any]:
        own = rules(concurrency=2, timeout=timeout, on_error=lost, origin=origin)
        rows = [[(NO_KEY, (value,)) for value in values]]
        start = lambda: Worker(own, call, False, None, IDS, STATS, patience=0.0)  # noqa: E731
        ((_, found),) = results(rows, start)
        return found

    before = set(threading.enumerate())
    try:
        assert task(0, 1, timeout=0.1) == [-1, -1]
        with raising("ASYNC_SLOTS_STUCK", inputs="inputs of an earlier task"):
            task(2, 3, timeout=0.1)
        assert task(4, origin="another") == [4]
    finally:
        release.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(30)
    assert sorted(begun) == [0, 1, 4]
    assert task(5, 6) == [5, 6]


def test_an_error_names_the_inputs_of_its_row_and_leaves_no_thread() -> None:
    cancelled = []

    async def call(value: int) -> int:
        if value == 5:
            raise ValueError("five")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(value)
            raise
        return value

    with raising("ASYNC_CALL_FAILED", attempts=1, inputs="user=5", error="ValueError: five"):
        call_all(call, [list(range(10))])
    assert cancelled == [0, 1, 2, 3, 4, 6, 7]


class NoTextError(Exception):
    """As the error of a client whose answer is missing."""

    def __str__(self) -> str:
        return str(self.answer)  # type: ignore[attr-defined]

    __repr__ = __str__


def test_an_error_or_an_input_without_a_text_does_not_hold_the_task() -> None:
    def call(value: object) -> int:
        raise NoTextError

    with raising("ASYNC_CALL_FAILED", inputs="user=1") as raised:
        call_all(call, [[1]])
    assert error_parameters(raised.value)["error"].startswith("NoTextError: ")
    with raising("ASYNC_CALL_FAILED") as raised:
        call_all(call, [[NoTextError()]])
    assert "AttributeError" in error_parameters(raised.value)["inputs"]


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()]
)
def test_a_call_that_asks_the_program_to_end_has_failed_like_any_other(
    error: BaseException,
) -> None:
    async def in_the_loop(value: int) -> int:
        raise error

    def in_a_thread(value: int) -> int:
        raise error

    def raise_again(raised: BaseException, value: int) -> int:
        raise error

    for call in in_the_loop, in_a_thread:
        assert call_all(call, [[1]], on_error=lambda raised, value: -value) == [[-1]]
        for on_error in None, raise_again:
            with raising("ASYNC_CALL_FAILED") as raised:
                call_all(call, [[1]], on_error=on_error)
            assert type(error).__name__ in error_parameters(raised.value)["error"]


def test_a_function_that_blocks_the_loop_is_named() -> None:
    release = threading.Event()

    async def call(value: int) -> int:
        release.wait(60)
        return value

    before = set(threading.enumerate())
    worker = Worker(rules(timeout=0.01), call, True, None, IDS, STATS, 0.05)
    try:
        rows = [[(NO_KEY, (7,))]]
        with pytest.raises(TidemarkError) as raised:
            list(results(rows, lambda: worker))
        assert raised.value.code == "ASYNC_LOOP_BLOCKED"
        assert raised.value.parameters["inputs"] == "user=7"
        assert "threading.py, in wait" in raised.value.parameters["place"]
    finally:
        release.set()
        worker._thread.join(30)
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("timeout", [None, 60.0])
def test_a_function_that_blocks_the_loop_for_a_while_is_named_once_and_has_its_result(
    timeout: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_seconds(monkeypatch, "_STILL_SECONDS", 0.3)
    named = threading.Event()
    seen = []

    def note(record: logging.LogRecord) -> None:
        seen.append(record.getMessage())
        named.set()

    monkeypatch.setattr(logging.getLogger("tidemark"), "handle", note)

    async def call(value: int) -> int:
        if value == 0:
            assert named.wait(60)
        if value == 1:
            threading.Event().wait(0.6)
        return value

    assert call_all(call, [[0, 1, 2]], timeout=timeout) == [[0, 1, 2]]
    (error,) = seen
    assert "[TIDEMARK.ASYNC_LOOP_BLOCKED]" in error
    assert "was called with user=0, and has let no other call run" in error
    assert "threading.py, in wait" in error


def test_answers_that_came_while_the_loop_stood_still_are_not_time_outs() -> None:
    answered, both = threading.Event(), threading.Barrier(2)

    async def call(value: int) -> int:
        loop = asyncio.get_running_loop()
        if value == 0:
            answer = loop.create_future()

            def service() -> None:
                both.wait(60)
                loop.call_soon_threadsafe(answer.set_result, value)
                answered.set()

            threading.Thread(target=service).start()
            return int(await answer)
        both.wait(60)
        assert answered.wait(60)
        # The time-out of both passes while the loop stands still.
        threading.Event().wait(0.5)
        return value

    assert call_all(call, [[0, 1]], timeout=0.2) == [[0, 1]]


def test_what_a_call_has_left_running_is_cancelled_at_the_end_of_its_task() -> None:
    ended = []

    async def keeper() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("keeper")

    async def call(value: int) -> int:
        kept.append(asyncio.create_task(keeper()))
        await asyncio.sleep(0)
        return value

    kept: list[Any] = []
    assert call_all(call, [[1]]) == [[1]]
    assert ended == ["keeper"]


def test_a_thread_of_asyncio_that_never_ends_does_not_hold_the_task() -> None:
    release = threading.Event()

    async def call(value: int) -> int:
        await asyncio.to_thread(release.wait, 60)
        return value

    own = rules(timeout=0.1, on_error=lost)
    worker = Worker(own, call, True, None, IDS, STATS)
    try:
        ((_, found),) = results([[(NO_KEY, (1,))]], lambda: worker)
        assert found == [-1]
        assert not worker._thread.is_alive()
        assert worker._loop.is_closed()
    finally:
        release.set()


def test_a_function_may_start_other_processes() -> None:
    def forked(value: int) -> int:
        child = os.fork()
        if child == 0:
            os._exit(value)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def run(value: int) -> int:
        return subprocess.run([sys.executable, "-c", f"exit({value})"], check=False).returncode

    for call in forked, run:
        assert call_all(call, [[1, 2, 3, 4]]) == [[1, 2, 3, 4]]


def test_a_stopped_loop_is_named() -> None:
    async def call(value: int) -> int:
        asyncio.get_running_loop().stop()
        await asyncio.Event().wait()
        return value

    with pytest.raises(TidemarkError) as raised:
        call_all(call, [[1]])
    assert raised.value.code == "ASYNC_LOOP_STOPPED"


def test_an_object_of_a_closed_loop_is_an_error_of_the_call() -> None:
    old = asyncio.new_event_loop()
    future = old.create_future()
    old.close()

    async def call(value: int) -> Any:
        return await future

    with raising("ASYNC_CALL_FAILED"):
        call_all(call, [[1]])


def test_a_task_that_is_abandoned_ends_its_calls_and_threads() -> None:
    before = set(threading.enumerate())
    ended = []
    last_has_begun = asyncio.Event()

    async def call(value: int) -> int:
        try:
            if value == 3:
                last_has_begun.set()
            if value:
                await asyncio.Event().wait()
            # A call that has not begun has nothing to end.
            await last_has_begun.wait()
        finally:
            ended.append(value)
        return value

    rows = ([(NO_KEY, (value,))] for value in range(9))
    running = results(rows, lambda: Worker(RULES, call, True, None, IDS, STATS))
    assert next(running) == ([(NO_KEY, (0,))], [0])
    running.close()
    assert sorted(ended) == [0, 1, 2, 3]
    assert set(threading.enumerate()) <= before


def test_calls_are_cancelled_and_the_service_is_closed_when_spark_has_hung_up() -> None:
    events: list[str] = []
    here, there = socket.socketpair()

    @asynccontextmanager
    async def opened() -> AsyncIterator[str]:
        yield "client"
        events.append("closed")

    async def forever(client: str, value: int) -> int:
        if value == 1:
            there.close()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            events.append("cancelled")
            raise
        return value

    # As `pyspark.worker.main`, with rows that are still to be read.
    def main(infile: BinaryIO) -> None:
        call_all(forever, [[1, 2, 3]], service=opened, timeout=None)

    there.sendall(b"more rows")
    with here, here.makefile("rb") as infile, pytest.raises(BrokenPipeError):
        main(infile)
    assert events == ["cancelled"] * 3 + ["closed"]


@pytest.mark.parametrize("is_in_cause", [False, True])
def test_an_error_is_sendable_whatever_its_text_and_its_causes(is_in_cause: bool) -> None:
    broken = ValueError("half a pair: \ud800")
    error: Exception = broken
    if is_in_cause:
        error = TidemarkError("CODE", "It failed", "waiting")
        error.__cause__ = broken
    found = sendable(error)
    assert (found is error) == is_in_cause
    assert "".join(traceback.format_exception(found)).encode()
    assert is_in_cause or "half a pair" in str(found)
    whole = KeyError("x")
    assert sendable(whole) is whole
