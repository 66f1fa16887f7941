"""Which row comes next: rows in their order, and of each key one at a time."""

from __future__ import annotations

import threading
from asyncio import Future
from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, Final

NO_KEY: Final = None
"""The chain of a row that waits for no other. A null key is a chain, `(None,)`."""


class Batch:
    """The results of the rows that came together, and whether all have arrived."""

    __slots__ = ("_left", "done", "results")

    def __init__(self, size: int, calls: int | None = None) -> None:
        """None is the result of all rows.

        Args:
            size: How many rows there are.
            calls: How many of them get a result by `put`; None for all.
        """
        self.results: list[Any] = [None] * size
        self.done = threading.Event()
        self._left = size if calls is None else calls
        if self._left == 0:
            self.done.set()

    def put(self, place: int, result: object) -> None:
        self.results[place] = result
        self._left -= 1
        if self._left == 0:
            self.done.set()


class Row:
    """A row that is to be called: its inputs, and where its result belongs."""

    __slots__ = ("attempts", "batch", "chain", "given_up", "id", "inputs", "place")

    def __init__(
        self, inputs: Sequence[object], batch: Batch, place: int, chain: Hashable = NO_KEY
    ) -> None:
        self.inputs = inputs
        self.batch = batch
        self.place = place
        self.chain = chain
        self.attempts = 0
        self.given_up: tuple[Future[Any], ...] = ()
        """What goes on of its calls: those that have passed their time-out, and threads of others."""
        self.id: str | None = None
        """What its function has got from `call_id`, the same for all of its calls."""


class Queue:
    """Rows that wait for a slot.

    A row of a chain is next only when the row before it in the chain is done.

    Example:
        >>> batch, queue = Batch(3), Queue()
        >>> for place, key in enumerate("aab"):
        ...     queue.add(Row([place], batch, place, key))
        >>> first, second = queue.next(), queue.next()
        >>> first.inputs, second.inputs, queue.next()
        ([0], [2], None)
        >>> queue.done(first)
        >>> queue.next().inputs
        [1]
    """

    def __init__(self) -> None:
        self._ready: deque[Row] = deque()
        self._chains: dict[Hashable, deque[Row]] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether a row could be called now."""
        return bool(self._ready)

    def has_next(self, row: Row) -> bool:
        """Whether another row of the same chain waits for this one."""
        return bool(self._chains.get(row.chain))

    def add(self, row: Row) -> None:
        """Takes a row that comes after all rows added before."""
        chain = None if row.chain is NO_KEY else self._chains.get(row.chain)
        if chain is not None:
            chain.append(row)
            return
        if row.chain is not NO_KEY:
            self._chains[row.chain] = deque()
        self._ready.append(row)

    def next(self) -> Row | None:
        """The row to be called now, or None if all others wait for one that is in flight."""
        return self._ready.popleft() if self._ready else None

    def again(self, row: Row) -> None:
        """Takes a row back that has to be called again. Its chain waits for it."""
        self._ready.appendleft(row)

    def done(self, row: Row) -> None:
        """Lets the next row of the same chain follow, before rows that came later."""
        if row.chain is NO_KEY:
            return
        chain = self._chains[row.chain]
        if chain:
            self._ready.appendleft(chain.popleft())
        else:
            del self._chains[row.chain]
