"""Batches of rows to batches of results, in the order of the rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Final

from tidemark._calls.queue import Batch, Row
from tidemark._calls.worker import Worker

WINDOW_BATCHES: Final = 4
"""How many of Spark's batches a task reads ahead. A slow call holds back no rows behind it."""

KeyedInputs = tuple[Hashable, Sequence[object]]
"""What a row's calls wait for one another by (`NO_KEY`: for none), and the inputs of its call."""


def results(
    batches: Iterable[Sequence[KeyedInputs]],
    start: Callable[[], Worker],
    least: int = 2,
    skips_nulls: bool = False,
) -> Iterator[tuple[Sequence[KeyedInputs], list[object]]]:
    """Calls all rows, and returns each batch with its results as soon as those before it are done.

    Args:
        batches: The rows, which are read ahead.
        start: Starts the worker, at the first row.
        least: How many rows are read ahead if the batches are small.
        skips_nulls: Whether rows whose inputs are all null get a null without a call.
    """
    worker: Worker | None = None
    waiting: deque[tuple[Sequence[KeyedInputs], Batch]] = deque()
    rows = largest = 0
    try:
        for inputs in batches:
            largest = max(largest, len(inputs))
            called = [
                place
                for place, (_, values) in enumerate(inputs)
                if not skips_nulls or any(value is not None for value in values)
            ]
            batch = Batch(len(inputs), len(called))
            waiting.append((inputs, batch))
            rows += len(inputs)
            if called:
                worker = worker or start()
                worker.add([Row(inputs[i][1], batch, i, inputs[i][0]) for i in called])
            window = max(least, WINDOW_BATCHES * largest)
            while waiting and (rows >= window or waiting[0][1].done.is_set()):
                rows -= len(waiting[0][0])
                yield _ended(worker, *waiting.popleft())
        while waiting:
            yield _ended(worker, *waiting.popleft())
    finally:
        if worker is not None:
            worker.close()


def _ended(
    worker: Worker | None, inputs: Sequence[KeyedInputs], batch: Batch
) -> tuple[Sequence[KeyedInputs], list[object]]:
    if worker is not None:
        worker.wait_for(batch)
    return inputs, batch.results
