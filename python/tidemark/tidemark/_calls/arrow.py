"""Batches of Arrow to rows of Python values, and results back, with the row of a wrong one named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from tidemark._calls.errors import reason_of, unreadable_input, wrong_result
from tidemark._calls.queue import NO_KEY
from tidemark._calls.rules import Rules
from tidemark._calls.stats import Stats
from tidemark._calls.task import KeyedInputs, results
from tidemark._calls.values import converted, reader, writer
from tidemark._calls.worker import Worker

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType

STATS: Final = "tidemark_calls"
_MONTHS: Final = "it has an INTERVAL YEAR TO MONTH"


def columns(
    batches: Iterable[Sequence[pa.Array]],
    rules: Rules,
    kind: pa.DataType,
    has_key: bool,
    start: Callable[[], Worker],
) -> Iterator[pa.Array]:
    """The new column of each batch.

    Args:
        batches: The columns of each batch: the inputs and, if there is one, the key.
        rules: How calls are made.
        kind: The type of a result.
        has_key: Whether the last column is the key.
        start: Starts the worker.

    Raises:
        TidemarkError: `ASYNC_RESULT_TYPE`, `ASYNC_INPUT_VALUE`, and what `Worker` raises.
    """
    rows = (_rows(batch, rules, has_key) for batch in batches)
    least = 2 * rules.concurrency
    for inputs, values in results(rows, start, least, rules.skips_nulls):
        yield _array(inputs, values, kind, rules)


def several(batches: Iterable[Any], rules: Rules) -> Iterator[tuple[Any, ...]]:
    """The columns of each batch of Spark, which gives a single one by itself.

    In a pipeline nothing has looked at their types before, and Spark does not say which one is wrong.

    Raises:
        TidemarkError: `ASYNC_INPUT_VALUE` if pyarrow lacks the type of one.
    """
    iterator = iter(batches)
    while True:
        try:
            batch = next(iterator)
        except StopIteration:
            return
        except KeyError as error:
            if not _is_of_months(error):
                raise
            names = " or ".join(rules.names)
            raise unreadable_input(rules.column, names, TypeError(_MONTHS)) from error
        yield batch if isinstance(batch, tuple) else (batch,)


def with_stats(values: pa.Array, stats: Stats) -> pa.Array:
    """Results as `with_stats_type` declares them: the last row carries what the calls were."""
    import pyarrow as pa

    figures = stats.take() if len(values) else None
    texts = pa.nulls(len(values), pa.string())
    if figures is not None:
        texts = pa.array([None] * (len(values) - 1) + [figures], pa.string())
    fields = [pa.field("value", values.type), pa.field(STATS, pa.string())]
    return pa.StructArray.from_arrays([values, texts], fields=fields)


def with_stats_type(result: DataType) -> DataType:
    """The type of results that carry what their calls were, by which the engine knows them."""
    from pyspark.sql.types import StringType, StructType

    return StructType().add("value", result).add(STATS, StringType())


def _rows(batch: Sequence[pa.Array], rules: Rules, has_key: bool) -> list[KeyedInputs]:
    names = [*rules.names, "key"] if has_key else rules.names
    lists = [_read(array, rules.column, name) for array, name in zip(batch, names, strict=True)]
    if not has_key:
        return [(NO_KEY, inputs) for inputs in zip(*lists, strict=True)]
    *given, keys = lists
    chains = [_chain(key) for key in keys]
    return list(zip(chains, zip(*given, strict=True), strict=True))


def _read(values: pa.Array, column: str, name: str) -> list[Any]:
    try:
        return converted(reader(values.type), values.to_pylist())
    except Exception as error:
        reason = TypeError(_MONTHS) if _is_of_months(error) else error
        raise unreadable_input(column, name, reason) from error


def _is_of_months(error: Exception) -> bool:
    from pyarrow import lib

    # pyarrow has no class for their arrays, and says so with the number of their type.
    return isinstance(error, KeyError) and error.args == (lib.Type_INTERVAL_MONTHS,)


def _chain(key: Any) -> Hashable:
    # A NaN is equal to nothing in Python, and a struct or an array has no hash.
    is_plain = isinstance(key, (int, str, bytes)) or key is None
    return (key if is_plain else repr(key),)


def _array(
    inputs: Sequence[KeyedInputs], values: list[Any], kind: pa.DataType, rules: Rules
) -> pa.Array:
    convert = writer(kind, rules.returns)
    try:
        return _written(convert, values, kind)
    except Exception as error:
        # Which of them was it? Each is tried by itself.
        for (_, given), value in zip(inputs, values, strict=True):
            try:
                _written(convert, [value], kind)
            except Exception as its_own:
                named = rules.described(given)
                reason = _reason(value, its_own)
                raise wrong_result(rules.column, named, str(kind), reason) from its_own
        raise wrong_result(
            rules.column, f"the inputs of {len(values)} rows", str(kind), reason_of(error)
        ) from error


def _written(
    convert: Callable[[Any], Any] | None, values: list[Any], kind: pa.DataType
) -> pa.Array:
    import pyarrow as pa

    array = pa.array(converted(convert, values), kind)
    if isinstance(array, pa.ChunkedArray):
        raise ValueError(
            "the results of one batch are more than 2 GiB; fewer rows are in a batch with a smaller "
            "spark.sql.execution.arrow.maxRecordsPerBatch"
        )
    return array


def _reason(value: object, error: Exception) -> str:
    if inspect.isawaitable(value):
        return "it is still to be awaited, which an async function has to do itself"
    return reason_of(error).removeprefix(f"{type(error).__name__}: ")
