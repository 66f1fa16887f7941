"""What is sent to the workers: Tidemark's part by value, and what the user has given."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tidemark._calls.arrow import columns, several, with_stats
from tidemark._calls.call_id import CallIds, task_name
from tidemark._calls.errors import not_importable, sendable
from tidemark._calls.older import arrays, in_lists
from tidemark._calls.pickling import pickled
from tidemark._calls.rules import Rules
from tidemark._calls.stats import Stats
from tidemark._calls.worker import Worker
from tidemark._errors import TidemarkError

if TYPE_CHECKING:
    import pyarrow as pa

PREFIX: Final = "tidemark.map_async: "
KEYED_PREFIX: Final = "tidemark.map_async by key: "
"""How names of functions begin, before the column; the second one if the last input is a key. By it, the
engine sees asynchronous calls."""


@dataclass(frozen=True)
class Given:
    """What the user has given, which may need modules that a worker does not have."""

    function: Callable[..., Any]
    is_async: bool
    service: Callable[[], Any] | None
    on_error: Callable[..., object] | None


def shipped(
    rules: Rules,
    kind: pa.DataType,
    has_key: bool,
    given: Given,
    older: Sequence[pa.DataType] | None = None,
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of an iterator UDF over Arrow, which no worker needs Tidemark for.

    Its results are of `with_stats_type`, or in lists if the UDF is one over pandas.

    Args:
        rules: How calls are made, without what to do on an error.
        kind: The type of a result.
        has_key: Whether the last column is the key.
        given: What the user has given.
        older: The types of the columns if the UDF is one over pandas, as in `older`.

    Raises:
        TidemarkError: `ASYNC_NOT_SENDABLE` if something the user has given cannot be pickled.
    """
    parts = (given.function, given.is_async, given.service, given.on_error)
    try:
        user = pickled(parts)
    except Exception as error:
        raise _not_sendable(rules.column, error) from error
    own = pickled((run, rules, kind, has_key, older), by_value=True)

    # Spark's pickler sends a function inside another one by value. It names nothing of this module.
    def map_async(batches: Iterator[Any]) -> Iterator[Any]:
        import pickle

        run, *parts = pickle.loads(own)
        yield from run(batches, user, *parts)

    map_async.__name__ = f"{KEYED_PREFIX if has_key else PREFIX}{rules.column}"
    return map_async


def run(
    batches: Iterator[Any],
    user: bytes,
    rules: Rules,
    kind: pa.DataType,
    has_key: bool,
    older: Sequence[pa.DataType] | None,
) -> Iterator[Any]:
    """What a task of a worker does: a column of results for each batch of inputs.

    Args:
        batches: A column, or a tuple of several.
        user: The pickled parts of a `Given`.
        rules: As for `shipped`, like those that follow.
        kind: The type of a result.
        has_key: Whether the last column is the key.
        older: The types of the columns if they are pandas'.

    Raises:
        TidemarkError: `ASYNC_NOT_IMPORTABLE`, and what `columns` raises.
    """
    with _sendable_errors():
        try:
            function, is_async, service, on_error = pickle.loads(user)
        except Exception as error:
            raise not_importable(rules.column, error) from error
        rules = dataclasses.replace(rules, on_error=on_error)
        given = several(batches, rules)
        arrow = given if older is None else (arrays(batch, older) for batch in given)
        ids = CallIds(task_name(rules.column, rules.origin))
        stats = Stats(rules.slowest)
        start = lambda: Worker(rules, function, is_async, service, ids, stats)  # noqa: E731
        for found in columns(arrow, rules, kind, has_key, start):
            yield with_stats(found, stats) if older is None else in_lists(found)


@contextmanager
def _sendable_errors() -> Iterator[None]:
    """Raises an error that cannot be sent to the driver as another one that can."""
    try:
        yield
    except Exception as error:
        can_be_sent = sendable(error)
        if can_be_sent is error:
            raise
        raise can_be_sent from None


def _not_sendable(column: str, error: Exception) -> TidemarkError:
    return TidemarkError(
        "ASYNC_NOT_SENDABLE",
        f"The function of column {column!r}, its service or its default cannot be sent to the "
        f"workers: {type(error).__name__}: {error}",
        "opening clients, connections and files in service=, which runs on the workers",
        column=column,
        error=f"{type(error).__name__}: {error}",
    )
