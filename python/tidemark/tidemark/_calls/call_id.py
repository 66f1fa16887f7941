"""What `call_id` returns: an id that a call has again when its batch runs again, and no other call has."""

from __future__ import annotations

import datetime
import hashlib
import threading
import uuid
from collections.abc import Sequence
from typing import Any

_QUERY = "sql.streaming.queryId"
_BATCH = "streaming.sql.batchId"
_EXECUTION = "spark.sql.execution.id"

CONTEXT_VARIABLE = "tidemark.call_id"
"""Holds what makes the id of the call that runs. It is found by its name, because what Tidemark sends to a
worker and what the user does are two pickles, which share no objects."""


def call_id() -> str:
    """The id of the call that runs, for services that have to tell a repeated call from a new one.

    It is made of the query, the batch, the partition, the column and the inputs of the row. Calls
    with equal inputs in one partition have different ids. The retries of a call have its id. When
    a batch runs again, after a restart or because a task failed, its calls have the same ids, as
    long as its rows come to the same partitions.

    In a batch DataFrame the ids are the same when a task runs again, and new ones in each action.

    Returns:
        A UUID as text, such as `"0b2a1c6e-8f0e-5a6f-9f0b-6f1d2c3b4a59"`.

    Raises:
        TidemarkError: `ASYNC_OUTSIDE_CALL` if it is not called by a function of `map_async`.

    Example:
        >>> async def pay(client, order, amount):
        ...     headers = {"Idempotency-Key": tidemark.call_id()}
        ...     return await client.post("/payments", amount, headers=headers)
    """
    import contextvars

    # A worker that has no Tidemark has this function alone, so it names nothing of the module.
    for variable, make in contextvars.copy_context().items():
        if variable.name == "tidemark.call_id":
            return str(make())
    from tidemark._errors import TidemarkError

    raise TidemarkError(
        "ASYNC_OUTSIDE_CALL",
        "tidemark.call_id() was called where no call of map_async is made",
        "calling it in the function of map_async, and giving what it returns to other threads",
    )


class CallIds:
    """The ids of the calls of one task."""

    def __init__(self, task: str) -> None:
        """Makes no id yet.

        Args:
            task: What the task does: the query, the batch, the partition and the column.
        """
        self._task = task
        self._lock = threading.Lock()
        # By what is the same in rows with equal inputs: the text of a row may be long.
        self._before: dict[bytes, int] = {}

    def new(self, inputs: Sequence[object]) -> str:
        """The id of a row that has none yet. It may be called in any thread."""
        digest = hashlib.blake2b(_text(inputs).encode(errors="surrogatepass"), digest_size=16)
        key = digest.digest()
        # Not the place of the row: rows may come in another order when a batch runs again.
        with self._lock:
            before = self._before.get(key, 0)
            self._before[key] = before + 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._task}/{key.hex()}/{before}"))


def task_name(column: str, origin: str) -> str:
    """What the task of this process does, in all of its attempts and in no other task.

    Args:
        column: The name of the new column.
        origin: Which `map_async` it is. It counts in batch queries, which have no id that a restart keeps.
    """
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is None:
        return f"{origin}/{column}"
    query, batch = task.getLocalProperty(_QUERY), task.getLocalProperty(_BATCH)
    if query is None or batch is None:
        query, batch = origin, task.getLocalProperty(_EXECUTION)
    return f"{query}/{batch}/{task.partitionId()}/{column}"


def _text(value: Any) -> str:
    """A value of an input, with the same text in any time zone of a session."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_text(key)}:{_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return repr(value.astimezone(datetime.timezone.utc))
    return repr(value)
