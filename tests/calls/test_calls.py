"""Calls in flight, on a manual clock and with futures that the test completes. No Spark, no threads."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from tidemark import TidemarkError
from tidemark._calls.calls import Calls
from tidemark._calls.queue import NO_KEY, Batch, Row
from tidemark._calls.rules import Rules
from tidemark._calls.stats import Stats


class Timer:
    def __init__(self) -> None:
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Clock:
    """What `Calls` needs of an event loop."""

    def __init__(self) -> None:
        self.now = 0.0
        self._made = 0
        self._timers: list[tuple[float, int, Timer, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, what: Callable[..., None], *arguments: object) -> Timer:
        timer = Timer()
        self._made += 1
        at = (self.now + seconds, self._made, timer, lambda: what(*arguments))
        heapq.heappush(self._timers, at)
        return timer

    def stand_still(self, seconds: float) -> None:
        """All that is due comes late, at the end of these seconds. What that makes comes later."""
        self.now += seconds
        due = [timer for timer in self._timers if timer[0] <= self.now]
        self._timers = [timer for timer in self._timers if timer[0] > self.now]
        heapq.heapify(self._timers)
        for _, _, timer, what in sorted(due, key=lambda timer: timer[:2]):
            if not timer.is_cancelled:
                what()

    def advance(self, seconds: float) -> None:
        until = self.now + seconds
        while self._timers and self._timers[0][0] <= until:
            self.now, _, timer, what = heapq.heappop(self._timers)
            if not timer.is_cancelled:
                what()
        self.now = until


class Service:
    """Rows to be called, the calls that were begun, and what came of them."""

    def __init__(self, *, chance: float = 1.0, can_cancel: bool = True, **rules: Any) -> None:
        self.clock = Clock()
        self.begun: list[Any] = []
        self.failures: list[BaseException] = []
        self._futures: dict[Any, list[Future[Any]]] = {}
        defaults: dict[str, Any] = {
            "column": "profile",
            "names": ("user",),
            "concurrency": 2,
            "timeout": 10.0,
            "retries": 0,
            "backoff": 1.0,
            "on_error": None,
            "origin": "tests",
            "skips_nulls": False,
        }
        own = Rules(**{**defaults, **rules})
        self.stats = Stats(own.slowest)
        self._calls = Calls(
            own,
            self.clock,  # type: ignore[arg-type]
            self._begin,  # type: ignore[arg-type]
            self.failures.append,
            self.stats,
            can_cancel,
            lambda: chance,
        )

    def _begin(self, row: Row) -> Future[Any]:
        (user,) = row.inputs
        self.begun.append(user)
        future: Future[Any] = Future()
        self._futures.setdefault(user, []).append(future)
        return future

    def add(self, *users: Any, keys: Sequence[Any] | None = None) -> Batch:
        batch = Batch(len(users))
        chains = [NO_KEY] * len(users) if keys is None else keys
        self._calls.add([Row((u,), batch, i, chains[i]) for i, u in enumerate(users)])
        return batch

    def answer(self, user: Any, result: Any = None) -> None:
        self._futures[user].pop(0).set_result(f"{user}!" if result is None else result)

    def fail(self, user: Any, text: str = "down") -> None:
        self._futures[user].pop(0).set_exception(ValueError(text))

    def is_cancelled(self, user: Any) -> bool:
        return all(future.cancelled() for future in self._futures[user])

    def close(self) -> int:
        return len(self._calls.close())


def test_at_most_so_many_calls_are_in_flight() -> None:
    service = Service(concurrency=2)
    service.add("a", "b", "c", "d")
    assert service.begun == ["a", "b"]
    service.answer("b")
    assert service.begun == ["a", "b", "c"]


def test_results_lie_where_their_rows_are_whatever_ends_first() -> None:
    service = Service(concurrency=3)
    batch = service.add("a", "b", "c")
    for user in "cab":
        assert not batch.done.is_set()
        service.answer(user)
    assert batch.done.is_set()
    assert batch.results == ["a!", "b!", "c!"]


def test_a_later_batch_does_not_wait_for_an_earlier_one() -> None:
    service = Service(concurrency=2)
    first, second = service.add("slow"), service.add("a", "b")
    service.answer("a")
    service.answer("b")
    assert second.done.is_set()
    assert not first.done.is_set()


def test_calls_of_one_key_are_made_one_after_another_in_the_order_of_the_rows() -> None:
    service = Service(concurrency=10)
    service.add("a1", "a2", "b1", "a3", keys=[("a",), ("a",), ("b",), ("a",)])
    assert service.begun == ["a1", "b1"]
    service.answer("a1")
    assert service.begun == ["a1", "b1", "a2"]
    service.answer("a2")
    service.answer("b1")
    assert service.begun == ["a1", "b1", "a2", "a3"]


def test_a_key_goes_on_in_the_next_batch_and_is_forgotten_when_it_is_done() -> None:
    service = Service(concurrency=10)
    service.add("a1", keys=[("a",)])
    service.add("a2", keys=[("a",)])
    assert service.begun == ["a1"]
    service.answer("a1")
    service.answer("a2")
    assert service._calls._queue._chains == {}


def test_a_time_out_frees_the_slot_of_a_call_that_is_cancelled() -> None:
    service = Service(concurrency=1, timeout=2.0, on_error=lambda error, user: type(error).__name__)
    batch = service.add("never", "next")
    service.clock.advance(1.9)
    assert service.begun == ["never"]
    service.clock.advance(0.1)
    assert service.begun == ["never", "next"]
    assert service.is_cancelled("never")
    service.answer("next")
    assert batch.results == ["TimeoutError", "next!"]


def lost(error: BaseException, user: Any) -> str:
    return f"lost {user}"


def test_a_call_that_cannot_be_cancelled_keeps_its_slot_after_its_time_out() -> None:
    service = Service(concurrency=2, timeout=2.0, can_cancel=False, on_error=lost)
    batch = service.add("a", "b", "c", "d")
    service.clock.advance(3)
    assert batch.results == ["lost a", "lost b", None, None]
    assert service.begun == ["a", "b"]
    service.answer("a", "too late")
    assert service.begun == ["a", "b", "c"]
    service.answer("c")
    service.answer("d")
    assert batch.results == ["lost a", "lost b", "c!", "d!"]
    service.clock.advance(100)
    assert service.failures == []


@pytest.mark.parametrize(("concurrency", "slots"), [(1, "the only slot"), (3, "all 3 slots")])
def test_when_every_slot_is_stuck_for_its_time_out_again_the_task_ends(
    concurrency: int, slots: str
) -> None:
    service = Service(concurrency=concurrency, timeout=2.0, can_cancel=False, on_error=lost)
    service.add(*range(concurrency), "next")
    service.clock.advance(3.9)
    assert service.failures == []
    service.clock.advance(0.1)
    (failure,) = service.failures
    assert isinstance(failure, TidemarkError)
    assert failure.code == "ASYNC_SLOTS_STUCK"
    assert failure.parameters == {
        "column": "profile",
        "slots": slots,
        "inputs": "user=0",
        "seconds": "2.0",
    }
    assert len(service.begun) == concurrency


def test_the_last_slot_that_is_stuck_has_its_time_too() -> None:
    service = Service(concurrency=2, timeout=2.0, can_cancel=False, on_error=lost)
    service.add("a")
    service.clock.advance(1)
    service.add("b", "next")
    service.clock.advance(3)
    assert service.failures == []
    service.clock.advance(1)
    assert len(service.failures) == 1


def test_stuck_slots_end_no_task_that_needs_none() -> None:
    service = Service(concurrency=1, timeout=2.0, can_cancel=False, on_error=lost)
    batch = service.add("a")
    service.clock.advance(100)
    assert batch.results == ["lost a"]
    assert service.failures == []
    service.add("next")
    assert [str(failure)[:29] for failure in service.failures] == ["[TIDEMARK.ASYNC_SLOTS_STUCK] "]


def test_no_call_of_a_key_begins_beside_one_that_was_given_up() -> None:
    keys = [("a",), ("a",), ("b",)]
    service = Service(concurrency=9, timeout=2.0, can_cancel=False, retries=1, on_error=lost)
    batch = service.add("a1", "a2", "b1", keys=keys)
    service.answer("b1")
    service.clock.advance(3.5)
    assert service.begun == ["a1", "b1"]
    service.answer("a1", "too late")
    assert service.begun == ["a1", "b1", "a1"]
    service.clock.advance(2)
    assert batch.results == ["lost a1", None, "b1!"]
    assert len(service.begun) == 3
    service.answer("a1", "too late again")
    service.answer("a2")
    assert batch.results == ["lost a1", "a2!", "b1!"]
    service.clock.advance(100)
    assert service.failures == []


@pytest.mark.parametrize("retries", [0, 1])
def test_a_key_that_waits_for_a_stuck_call_for_its_time_out_again_ends_the_task(
    retries: int,
) -> None:
    service = Service(timeout=2.0, can_cancel=False, retries=retries, on_error=lost)
    service.add("a1", "a2", keys=[("a",), ("a",)])
    service.clock.advance(3.9)
    assert service.failures == []
    service.clock.advance(0.1)
    (failure,) = service.failures
    assert "what holds the slot of a key has passed" in str(failure)
    assert "made with user='a1'" in str(failure)


def test_a_stuck_call_whose_key_has_no_other_row_ends_nothing() -> None:
    service = Service(timeout=2.0, can_cancel=False, on_error=lost)
    service.add("a1", "b1", keys=[("a",), ("b",)])
    service.answer("b1")
    service.clock.advance(100)
    assert service.failures == []
    service.add("a2", keys=[("a",)])
    assert len(service.failures) == 1


def test_a_call_of_an_earlier_task_has_a_slot_until_it_ends() -> None:
    service = Service(concurrency=1, timeout=2.0)
    earlier: Future[Any] = Future()
    service._calls.hold(earlier)  # type: ignore[arg-type]
    service.add("a")
    service.clock.advance(1)
    assert service.begun == []
    earlier.set_result(None)
    assert service.begun == ["a"]
    another: Future[Any] = Future()
    service._calls.hold(another)  # type: ignore[arg-type]
    service.add("b")
    service.answer("a")
    service.clock.advance(2)
    assert "made with inputs of an earlier task" in str(service.failures[0])


def test_a_call_that_ends_in_time_is_not_timed_out_later() -> None:
    service = Service(timeout=2.0)
    batch = service.add("a")
    service.answer("a")
    service.clock.advance(10)
    assert batch.results == ["a!"]
    assert service.failures == []


def test_a_loop_that_stood_still_takes_answers_before_time_outs_but_only_once() -> None:
    service = Service(timeout=2.0, concurrency=2, on_error=lost)
    batch = service.add("a", "b")
    service.clock.stand_still(5)
    service.answer("a")
    assert batch.results == ["a!", None]
    service.clock.stand_still(5)
    assert batch.results == ["a!", "lost b"]


def test_without_a_time_out_a_call_may_take_as_long_as_it_does() -> None:
    service = Service(timeout=None)
    service.add("a")
    service.clock.advance(1e6)
    assert not service.is_cancelled("a")


def test_a_failed_call_is_made_again_after_a_wait_that_doubles() -> None:
    service = Service(retries=3, backoff=1.0)
    batch = service.add("a")
    for wait, calls in [(1, 2), (2, 3), (4, 4)]:
        service.fail("a")
        service.clock.advance(wait - 0.1)
        assert len(service.begun) == calls - 1
        service.clock.advance(0.1)
        assert len(service.begun) == calls
    service.answer("a")
    assert batch.results == ["a!"]


@pytest.mark.parametrize(("chance", "wait"), [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)])
def test_half_of_a_wait_is_left_to_chance(chance: float, wait: float) -> None:
    service = Service(chance=chance, retries=1, backoff=1.0)
    service.add("a")
    service.fail("a")
    service.clock.advance(wait - 0.01)
    assert len(service.begun) == 1
    service.clock.advance(0.01)
    assert len(service.begun) == 2


@pytest.mark.parametrize(("backoff", "longest"), [(1.0, 30), (60.0, 60)])
def test_a_wait_is_no_longer_than_half_a_minute_unless_the_first_one_is(
    backoff: float, longest: int
) -> None:
    service = Service(timeout=None, retries=9, backoff=backoff)
    service.add("a")
    for _ in range(9):
        service.fail("a")
        service.clock.advance(longest)
    assert len(service.begun) == 10


def test_a_row_that_waits_for_its_retry_holds_no_slot_but_holds_its_key() -> None:
    service = Service(concurrency=1, retries=1, backoff=5.0)
    service.add("a1", "a2", "b1", keys=[("a",), ("a",), ("b",)])
    service.fail("a1")
    assert service.begun == ["a1", "b1"]
    service.answer("b1")
    assert service.begun == ["a1", "b1"]
    service.clock.advance(5)
    service.answer("a1")
    assert service.begun == ["a1", "b1", "a1", "a2"]


@pytest.mark.parametrize("retries", [5, 6])
def test_a_service_that_is_away_for_a_minute_is_called_until_it_is_back_or_no_retry_is_left(
    retries: int,
) -> None:
    service = Service(concurrency=4, retries=retries, backoff=1.0)
    at = []

    def call(row: Row) -> Future[Any]:
        at.append(service.clock.now)
        future: Future[Any] = Future()
        if service.clock.now < 60:
            future.set_exception(OSError("no route to host"))
        else:
            future.set_result(row.inputs[0])
        return future

    service._calls._call = call  # type: ignore[assignment]
    batch = service.add(*range(100))
    service.clock.advance(61)
    waited = [0, 1, 3, 7, 15, 31, 61]
    if retries == 6:
        assert at == [second for second in waited for _ in range(100)]
        assert batch.done.is_set()
        assert batch.results == list(range(100))
        assert service.failures == []
    else:
        # The row that is given up ends the task, and no other row is called after it.
        assert at == [second for second in waited[:5] for _ in range(100)] + [31]
        (failure,) = service.failures
        assert "called 6 times with user=0, and failed: OSError: no route to host" in str(failure)


def test_a_time_out_is_retried_too() -> None:
    service = Service(timeout=2.0, retries=1, backoff=1.0)
    batch = service.add("a")
    service.clock.advance(3)
    assert service.begun == ["a", "a"]
    service._futures["a"].pop(0)
    service.answer("a")
    assert batch.results == ["a!"]


def test_the_last_failure_ends_the_task_and_names_the_inputs() -> None:
    service = Service(retries=1, concurrency=1)
    service.add("a", "b")
    service.fail("a")
    service.answer("b")
    service.clock.advance(1)
    service.fail("a", "still\ndown")
    (failure,) = service.failures
    assert isinstance(failure, TidemarkError)
    assert failure.code == "ASYNC_CALL_FAILED"
    assert failure.parameters == {
        "column": "profile",
        "inputs": "user='a'",
        "attempts": "2",
        "error": "ValueError: still down",
    }
    assert isinstance(failure.__cause__, ValueError)


def test_after_a_failure_no_further_call_begins() -> None:
    service = Service(concurrency=1)
    service.add("a", "b")
    service.fail("a")
    service.add("c")
    assert service.begun == ["a"]


def test_a_row_whose_call_failed_may_get_a_default() -> None:
    service = Service(on_error=lambda error, user: f"{user}: {error}")
    batch = service.add("a")
    service.fail("a")
    assert batch.results == ["a: down"]
    assert service.failures == []


def test_a_default_that_fails_itself_ends_the_task() -> None:
    service = Service(on_error=lambda error: None)
    service.add("a")
    service.fail("a")
    (failure,) = service.failures
    assert "TypeError" in str(failure)


def test_many_calls_that_fail_at_once_are_not_recursion() -> None:
    def raising(row: Row) -> Future[Any]:
        raise ValueError(row.inputs)

    service = Service(on_error=lambda error, user: None)
    service._calls._call = raising  # type: ignore[assignment]
    assert service.add(*range(5000)).done.is_set()


def test_the_calls_are_counted_and_the_slowest_is_named() -> None:
    service = Service(concurrency=2, timeout=5.0, retries=1, on_error=lost)
    service.add("a", "b", "c")
    service.clock.advance(2)
    service.answer("a")
    service.fail("c")
    service.clock.advance(1)
    service.fail("c")
    service.clock.advance(4)
    counts, buckets, slowest, inputs = (service.stats.take() or "").split("\n")
    # Of b, there is a time-out and a second call, which is in flight.
    assert counts == "5 2 2 1 1 2"
    assert sum(int(bucket.split(":")[1]) for bucket in buckets.split()) == 4
    assert (float(slowest), inputs) == (5000.0, "user='b'")
    service._futures["b"].pop(0)
    assert service.stats.take() is None
    service.answer("b")
    assert (service.stats.take() or "").startswith("0 0 0 0 0 0\n")


def test_closing_cancels_what_is_in_flight_and_starts_nothing_more() -> None:
    service = Service(concurrency=2, retries=5)
    service.add("a", "b", "c")
    assert service.close() == 2
    assert service.is_cancelled("a")
    service.clock.advance(1000)
    assert service.begun == ["a", "b"]
    assert service.failures == []


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_every_row_is_done_once_and_keys_keep_their_order(seed: int) -> None:
    chance = random.Random(seed)
    concurrency = chance.randint(1, 6)
    can_cancel = seed % 2 == 0
    service = Service(
        concurrency=concurrency,
        timeout=3.0,
        retries=2,
        on_error=lambda error, user: "lost",
        can_cancel=can_cancel,
    )
    batches, users = [], []
    ended: list[str] = []
    open_since: dict[str, float] = {}
    for n in range(5):
        names = [f"{chance.choice('abcd')}{n}{i:02}" for i in range(chance.randint(0, 12))]
        users += names
        batches.append(service.add(*names, keys=[(name[0],) for name in names]))
    for _ in range(2000):
        open_calls = [u for u, all_of in service._futures.items() for f in all_of if not f.done()]
        assert len(open_calls) <= concurrency
        assert len({user[0] for user in open_calls}) == len(open_calls)
        open_since = {user: open_since.get(user, service.clock.now) for user in open_calls}
        old = [user for user, since in open_since.items() if service.clock.now - since >= 5]
        if not open_calls or (not old and chance.random() < 0.2):
            service.clock.advance(1)
            continue
        # One that does not end in the end would end the task.
        user = chance.choice(old or open_calls)
        (future,) = [f for f in service._futures[user] if not f.done()]
        is_in_time = service.clock.now - open_since.pop(user) < 3
        if chance.random() < 0.3:
            future.set_exception(ValueError())
        else:
            future.set_result("done")
            if is_in_time:
                ended.append(user)
    assert service.failures == []
    assert all(batch.done.is_set() for batch in batches)
    assert {result for batch in batches for result in batch.results} <= {"done", "lost"}
    for key in "abcd":
        own = [user for user in ended if user[0] == key]
        assert own == sorted(own)
    assert len(set(ended)) == len(ended) == sum(b.results.count("done") for b in batches)
    assert set(service.begun) == set(users)
