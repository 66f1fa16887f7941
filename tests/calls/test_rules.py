"""What happens to a row whose call fails: the same for an async function and for a plain one. No Spark."""

from __future__ import annotations

import asyncio
import builtins
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from support.async_calls import call_all
from support.raising import raising

from tidemark._calls.errors import reason_of
from tidemark._calls.stats import Stats
from tidemark.errors import error_parameters

HAS_GROUPS = sys.version_info >= (3, 11)


class OwnError(Exception):
    """An error of the user's own."""


def async_of(plain: Callable[[int], Any]) -> Callable[[int], Any]:
    async def call(value: int) -> Any:
        await asyncio.sleep(0)
        return plain(value)

    return call


def awaiting_a_thread(plain: Callable[[int], Any]) -> Callable[[int], Any]:
    async def call(value: int) -> Any:
        return await asyncio.to_thread(plain, value)

    return call


def plain_of(plain: Callable[[int], Any]) -> Callable[[int], Any]:
    return plain


KINDS = pytest.mark.parametrize("made", [plain_of, async_of, awaiting_a_thread])
ERRORS = [
    OwnError("own"),
    TimeoutError("of the client"),
    asyncio.CancelledError("of the client"),
    SystemExit(3),
    KeyboardInterrupt("stop"),
    GeneratorExit("ended"),
    AssertionError(),
]


@KINDS
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_on_error_has_the_error_that_the_function_raised(
    made: Callable[..., Any], error: BaseException
) -> None:
    def fails(value: int) -> int:
        if value == 1:
            raise error
        return value

    call, seen = made(fails), []

    def note(raised: BaseException, value: int) -> int:
        seen.append((type(raised), value))
        return -value

    assert call_all(call, [[0, 1, 2]], on_error=note, retries=1) == [[0, -1, 2]]
    assert seen == [(type(error), 1)]
    assert call_all(call, [[0, 1, 2]], on_error=lambda *_: None) == [[0, None, 2]]
    with raising("ASYNC_CALL_FAILED", attempts=2, inputs="user=1") as caught:
        call_all(call, [[0, 1, 2]], retries=1)
    assert error_parameters(caught.value)["error"].startswith(type(error).__name__)


@KINDS
def test_stop_iteration_is_an_error_like_any_other(made: Callable[..., Any]) -> None:
    def fails(value: int) -> int:
        raise StopIteration

    seen: list[type] = []

    def note(raised: BaseException, value: int) -> int:
        seen.append(type(raised))
        return -value

    assert call_all(made(fails), [[1, 2]], on_error=note) == [[-1, -2]]
    assert seen == [RuntimeError] * 2


@KINDS
@pytest.mark.parametrize("retries", [0, 1])
def test_rows_whose_calls_all_pass_their_time_out_have_the_default(
    made: Callable[..., Any], retries: int
) -> None:
    # Each call takes longer than its time-out again, and holds a slot as long as it is in a thread.
    def takes_its_time(value: int) -> int:
        time.sleep(0.3)
        return value

    async def in_the_loop(value: int) -> int:
        await asyncio.sleep(0.3)
        return value

    call = in_the_loop if made is async_of else made(takes_its_time)
    stats, seen = Stats(), []

    def note(raised: BaseException, value: int) -> int:
        seen.append(type(raised))
        return -1

    found = call_all(
        call, [list(range(5))], on_error=note, retries=retries, timeout=0.1, concurrency=2,
        stats=stats,
    )  # fmt: skip
    assert found == [[-1] * 5]
    assert seen == [TimeoutError] * 5
    calls, again, failed, timed_out, defaulted, most = (stats.take() or "").split("\n")[0].split()
    assert [int(calls), int(again)] == [5 * (1 + retries), 5 * retries]
    assert [int(failed), int(timed_out), int(defaulted)] == [0, 5 * (1 + retries), 5]
    assert int(most) == 2


GROUPS = pytest.mark.skipif(not HAS_GROUPS, reason="this Python has no groups")


def group(*errors: BaseException) -> BaseException:
    kind: Any = vars(builtins)["BaseExceptionGroup"]
    made: BaseException = kind("unhandled errors in a TaskGroup", errors)
    return made


@GROUPS
@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        ([OwnError("down")], "OwnError: down"),
        ([OwnError("down"), ValueError("bad")], "OwnError: down; ValueError: bad"),
        ([OwnError("down"), OwnError("down")], "OwnError: down"),
        ([OwnError()], "OwnError"),
        ([asyncio.CancelledError()], "CancelledError"),
    ],
)
def test_of_a_group_the_errors_inside_it_are_the_reason(
    errors: list[BaseException], reason: str
) -> None:
    assert reason_of(group(*errors)) == reason
    assert reason_of(group(group(*errors))) == reason
    raised = group(group(*errors), group(*errors))
    assert reason_of(raised) == reason

    def fails(value: int) -> int:
        raise raised

    for made in plain_of, async_of, awaiting_a_thread:
        with raising("ASYNC_CALL_FAILED", error=reason):
            call_all(made(fails), [[1]])

    def on_error(error: BaseException, value: int) -> int:
        raise raised

    with raising("ASYNC_CALL_FAILED", error=f"{reason}. Then on_error failed: {reason}"):
        call_all(fails, [[1]], on_error=on_error)


@GROUPS
def test_the_reason_of_many_errors_is_short() -> None:
    many = group(*(OwnError(f"{n} " + "x" * 10**4) for n in range(1000)))
    assert len(reason_of(many)) < 1100


@GROUPS
def test_the_error_of_a_task_in_a_task_group_is_the_reason() -> None:
    async def fails(value: int) -> None:
        raise OwnError(f"no answer for {value}")

    async def call(value: int) -> int:
        async with asyncio.TaskGroup() as tasks:  # type: ignore[attr-defined,unused-ignore]
            tasks.create_task(fails(value))
            tasks.create_task(asyncio.sleep(60))
        return value

    with raising("ASYNC_CALL_FAILED", error="OwnError: no answer for 7"):
        call_all(call, [[7]])
