"""`map_async`: a column that is the result of calls to something slow, many of them at one time."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from tidemark import _bridge
from tidemark._calls.kinds import require_readable, result_type
from tidemark._calls.options import (
    Default,
    default_of,
    expressions,
    is_async,
    number,
    require_new,
    true_or_false,
)
from tidemark._calls.udf import as_texts, over_arrow, over_pandas
from tidemark._errors import invalid_option
from tidemark._watermark.durations import length_millis

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_CALL: Final = "call"
_SKIP: Final = "skip"


def map_async(
    df: DataFrame,
    column: str,
    function: Callable[..., Any],
    *,
    inputs: str | Column | Sequence[str | Column],
    returns: str | DataType,
    concurrency: int = 64,
    timeout: str | timedelta | None = "1 minute",
    retries: int = 0,
    backoff: str | timedelta = "200 milliseconds",
    on_error: str | Default | Callable[..., object] = "fail",
    on_null: str = "call",
    key: str | Column | None = None,
    ordered: bool = True,
    service: Callable[[], Any] | None = None,
    show_inputs: bool = True,
) -> DataFrame:
    """Adds a column with the results of calls that wait for something else, such as a web service.

    A task has many calls in flight at one time. The rows stay as they are: their number, their
    order, their other columns, and the watermarks of all event-time columns. A batch ends when all
    of its calls have ended, so no watermark overtakes a row.

    Calls are made at least once: a task that Spark runs again calls again. Spark evaluates the
    column once for each row, however often it is read above.

    Args:
        df: The DataFrame, streaming or not, classic or Spark Connect.
        column: The name of the new column.
        function: An `async def` function, or a plain one, which runs in threads. It is given the
            service, if there is one, and then the inputs as Python values: None for null, a
            dictionary for a struct or a map, a list for an array, times with their zone.
        inputs: What the function is given: a column's name, an expression, or a list of these.
        returns: The type of the results: a `DataType`, or its text such as `"STRING"` or
            `"name STRING, tier INT"`, which is a struct. A struct may be returned as a dictionary,
            tuple, `Row` or dataclass. `"ARRAY<...>"` and `F.explode` make several rows, or none.
        concurrency: How many calls one task has in flight. A query has this number for each of its
            tasks that run at one time.
        timeout: How long one call may take. Its row is given up then, and the call is cancelled. It
            keeps its slot until it ends: a plain function goes on in its thread until it returns, and
            so does a thread of an async function.
            None: there is no limit.
        retries: How often a call is made again after an error or a time-out.
        backoff: How long a row waits before its first retry; twice as long before each further one.
            Its slot is free meanwhile.
        on_error: What happens to a row whose last call failed. `"fail"`: the query fails. `"null"`:
            its result is null. `tidemark.Default(value)`: its result is that value. A function is
            called with the error and the inputs, and returns the result.
        on_null: What happens to a row whose inputs are all null. `"call"`: it is called like any
            other. `"skip"`: its result is null without a call, and it waits for no slot and no key.
        key: Of rows with an equal key, at most one call is in flight, in the order of the rows. Their
            rows must be in one task, as they are above `in_order(by=key)` or `repartition(key)`.
            Without Tidemark's extension, this is not checked.
        ordered: Whether the rows keep their order. In Python they do so anyway.
        service: A function without arguments that returns a context manager, async or not. It is
            opened once in each task, on the worker, and what it returns is the first argument.
        show_inputs: Whether errors, the log, the progress of a batch and reports name the inputs of a
            call, such as those of the slowest one. False keeps personal data out of them. The text of
            an error that the function raises stays as it is.

    Returns:
        The same rows in the same order, with one column more.

    Raises:
        TidemarkError: `UNKNOWN_COLUMN`, `INVALID_OPTION`, `ASYNC_NOT_SENDABLE`, `ASYNC_INPUT_VALUE` for
            an input of a type that Python lacks. The engine raises `ASYNC_KEY_SPREAD`, on Spark
            Connect at the first use. When the query runs, `error_code`
            finds in its error `ASYNC_CALL_FAILED`, `ASYNC_RESULT_TYPE`,
            `ASYNC_SERVICE_FAILED`, `ASYNC_SLOTS_STUCK`, `ASYNC_LOOP_BLOCKED`, `ASYNC_LOOP_STOPPED`,
            `ASYNC_INPUT_VALUE` or `ASYNC_NOT_IMPORTABLE`.

    Example:
        >>> async def profile_of(client, user_id):
        ...     return await client.get_json(f"/users/{user_id}")
        >>> tidemark.map_async(
        ...     orders, "profile", profile_of, inputs="user_id", returns="name STRING, tier INT",
        ...     timeout="2 seconds", retries=2, service=open_client,
        ... )  # doctest: +SKIP
    """
    # Here, so that importing the package does not load asyncio.
    from tidemark._calls.arrow import with_stats_type
    from tidemark._calls.rules import Rules
    from tidemark._calls.shipping import Given, shipped

    if not hasattr(df, "withColumn"):
        raise invalid_option("df", df, "a DataFrame")
    require_new(df, column)
    if not callable(function):
        raise invalid_option("function", function, "a function")
    if service is not None and not callable(service):
        raise invalid_option("service", service, "a function that returns a context manager")
    true_or_false("ordered", ordered)
    if on_null not in (_CALL, _SKIP):
        raise invalid_option("on_null", on_null, (_CALL, _SKIP))
    given = expressions(df, inputs)
    result, kind = result_type(df, returns)
    rules = Rules(
        column=column,
        names=tuple(name for name, _ in given),
        concurrency=number("concurrency", concurrency, at_least=1),
        timeout=None if timeout is None else length_millis("timeout", timeout) / 1000,
        retries=number("retries", retries, at_least=0),
        backoff=length_millis("backoff", backoff) / 1000,
        on_error=None,
        origin=uuid.uuid4().hex,
        skips_nulls=on_null == _SKIP,
        shows_inputs=true_or_false("show_inputs", show_inputs),
        returns=result,
    )
    if key is not None:
        given += [("key", expression) for _, expression in expressions(df, key, "key")]
    require_readable(df, column, given)
    columns = [expression for _, expression in given]
    parts = Given(function, is_async(function), service, default_of(on_error, kind, result))
    if _bridge.has_arrow_functions():
        task = shipped(rules, kind, key is not None, parts)
        results = over_arrow(task, with_stats_type(result))(*columns).getField("value")
        if _bridge.forbids_analysis(df.sparkSession):
            # Not in place of another column: Spark refuses a table with two of one name.
            return df.select("*", results.alias(column))
        return df.withColumn(column, results)
    texts, kinds = as_texts(df, columns)
    task = shipped(rules, kind, key is not None, parts, kinds)
    return df.withColumn(column, over_pandas(task, result)(*texts)[0])
