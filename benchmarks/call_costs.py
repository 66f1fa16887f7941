"""What each promise of `map_async` costs, beside the same promise written by hand around `asyncio.gather`. No Spark.

It measures CPU time, because a busy machine changes that least.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Coroutine
from typing import Any

from runs import repeated

from tidemark._calls.call_id import CallIds
from tidemark._calls.queue import NO_KEY
from tidemark._calls.rules import Rules
from tidemark._calls.stats import Stats
from tidemark._calls.task import results
from tidemark._calls.worker import Worker

_BATCH_ROWS = 10_000
"""Rows of one of Spark's Arrow batches."""
_TIMEOUT = 60.0

Call = Callable[[int], Coroutine[Any, Any, int]]


def call_costs(rounds: int, rows: int, in_flight: int) -> None:
    """Prints the microseconds of CPU time of a call of 5 ms, with each promise alone and with all of them.

    Args:
        rounds: Runs of each way, after one that does not count.
        rows: Of a run.
        in_flight: The calls in flight, where they have a bound.
    """
    hand, ours = _by_hand(rows, in_flight), _by_map_async(rows, in_flight)
    ways = {f"gather: {name}": way for name, way in hand.items()}
    ways |= {f"map_async: {name}": way for name, way in ours.items()}
    found = repeated(rounds, lambda way: {"micros": _cpu_micros(ways[way], rows)}, list(ways))
    print(f"\nCPU time of a call of 5 ms without Spark, in us, {in_flight} in flight")
    print(f"{'':34} {'gather':>9} {'map_async':>9}    ratio (range)")
    for name in dict.fromkeys([*hand, *ours]):
        a, b = (
            [run["micros"] for run in found.get(f"{of}: {name}", [])]
            for of in ("gather", "map_async")
        )
        figures = " ".join(f"{statistics.median(of):9.1f}" if of else f"{'-':>9}" for of in (a, b))
        ratios = [our / their for our, their in zip(b, a, strict=False)]
        spread = (
            f"{statistics.median(ratios):8.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            if ratios
            else ""
        )
        print(f"{name:34} {figures} {spread}")


async def _answer(value: int) -> int:
    await asyncio.sleep(0.005)
    return value


def _by_hand(rows: int, in_flight: int) -> dict[str, Callable[[], None]]:
    async def timed(value: int) -> int:
        return await asyncio.wait_for(_answer(value), _TIMEOUT)

    def retried(inner: Call) -> Call:
        async def call(value: int) -> int:
            for wait in (0.2, 0.4):
                try:
                    return await inner(value)
                except OSError:
                    await asyncio.sleep(wait)
            return await inner(value)

        return call

    def run(inner: Call, bound: int | None) -> None:
        async def gathered(values: range) -> list[int]:
            slots = asyncio.Semaphore(bound or 1)

            async def call(value: int) -> int:
                async with slots:
                    return await inner(value)

            return await asyncio.gather(*map(call if bound else inner, values))

        for first in range(0, rows, _BATCH_ROWS):
            found = asyncio.run(gathered(range(first, min(first + _BATCH_ROWS, rows))))
            assert found[0] == first

    return {
        "in order, without a bound": lambda: run(_answer, None),
        "in order, with a bound": lambda: run(_answer, in_flight),
        "the same and a time-out": lambda: run(timed, in_flight),
        "the same and two retries": lambda: run(retried(_answer), in_flight),
        "all of these": lambda: run(retried(timed), in_flight),
    }


def _by_map_async(rows: int, in_flight: int) -> dict[str, Callable[[], None]]:
    def run(concurrency: int, timeout: float | None, retries: int, has_key: bool = False) -> None:
        rules = Rules(
            column="call",
            names=("value",),
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
            backoff=0.2,
            on_error=None,
            origin="benchmark",
            skips_nulls=False,
        )
        stats = Stats()
        batches = (
            [
                ((value,) if has_key else NO_KEY, (value,))
                for value in range(first, min(first + _BATCH_ROWS, rows))
            ]
            for first in range(0, rows, _BATCH_ROWS)
        )
        start = lambda: Worker(rules, _answer, True, None, CallIds("benchmark"), stats)  # noqa: E731
        for inputs, found in results(batches, start, 2 * concurrency):
            assert found[0] == inputs[0][1][0]
            stats.take()

    return {
        "in order, without a bound": lambda: run(_BATCH_ROWS, None, 0),
        "in order, with a bound": lambda: run(in_flight, None, 0),
        "the same and a time-out": lambda: run(in_flight, _TIMEOUT, 0),
        "the same and two retries": lambda: run(in_flight, None, 2),
        "all of these": lambda: run(in_flight, _TIMEOUT, 2),
        "all, and one call for a key": lambda: run(in_flight, _TIMEOUT, 2, True),
    }


def _cpu_micros(run: Callable[[], None], rows: int) -> float:
    begun = time.process_time()
    run()
    return 1e6 * (time.process_time() - begun) / rows
