"""What a call, its result or the service may end with."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from tidemark._errors import TidemarkError

_LONGEST = 200
_LONGEST_REASON = 1000
_MOST_REASONS = 10


def described(names: Sequence[str], inputs: Sequence[object]) -> str:
    """The inputs of a row by name, cut to what a message can hold.

    Example:
        >>> described(["user_id", "day"], [7, None])
        'user_id=7, day=None'
    """
    pairs = zip(names, inputs, strict=True)
    text = ", ".join(f"{name}={_text(_shown, value)}" for name, value in pairs)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def reason_of(error: BaseException) -> str:
    """An error in one line, with its type.

    Of a group, as a `TaskGroup` raises it, each error inside it is named, and not the group.
    """
    parts = [_reason_of_one(inner) for inner in islice(_inside(error), _MOST_REASONS)]
    return parts[0] if len(parts) == 1 else _shortened("; ".join(dict.fromkeys(parts)))


def _inside(error: BaseException) -> Iterator[BaseException]:
    # By its name: Python 3.10 has groups from a package only.
    is_group = any(kind.__name__ == "BaseExceptionGroup" for kind in type(error).__mro__)
    if not is_group:
        yield error
        return
    for inner in error.exceptions:  # type: ignore[attr-defined]
        yield from _inside(inner)


def _shortened(text: str) -> str:
    # An error may hold the whole answer of a service.
    return text if len(text) <= _LONGEST_REASON else text[:_LONGEST_REASON] + "..."


def _reason_of_one(error: BaseException) -> str:
    text = _shortened(" ".join(_text(str, error)[: 2 * _LONGEST_REASON].split()))
    kind = type(error).__name__
    return f"{kind}: {text}" if text else kind


def _shown(value: object) -> str:
    # No text of a megabyte is made to be cut.
    if isinstance(value, (str, bytes)) and len(value) > _LONGEST:
        value = value[: _LONGEST + 1]
    return repr(value)


def _text(make: Callable[[object], str], value: object) -> str:
    # Code of the user's: some errors of clients cannot say what they are.
    try:
        # Half of a surrogate pair, as a broken answer may have, cannot be sent: Spark would wait forever.
        return make(value).encode("utf-8", "backslashreplace").decode()
    except BaseException as error:  # noqa: BLE001
        return f"its text cannot be made ({type(error).__name__})"


def sendable(error: Exception) -> Exception:
    """An error whose text Spark can send to the driver. If it could not, the task would never end.

    What has led to the error is left out if its text cannot be sent.
    """
    if not _is_text(error):
        error.__cause__, error.__suppress_context__ = None, True
    if _is_text(error):
        return error
    alone = RuntimeError(reason_of(error))
    alone.__suppress_context__ = True
    return alone


def _is_text(error: Exception) -> bool:
    try:
        "".join(traceback.format_exception(error)).encode()
    except UnicodeError:
        return False
    return True


def call_failed(column: str, inputs: str, attempts: int, reason: str) -> TidemarkError:
    times = "once" if attempts == 1 else f"{attempts} times"
    return TidemarkError(
        "ASYNC_CALL_FAILED",
        f"The function of column {column!r} was called {times} with {inputs}, and failed: {reason}",
        "changing the function or its timeout, or by on_error='null' or a default, with which such "
        "a row is kept",
        column=column,
        inputs=inputs,
        attempts=attempts,
        error=reason,
    )


def slots_stuck(column: str, slots: str, inputs: str | None, seconds: float) -> TidemarkError:
    """Names the call that has been stuck for longest; None for one of an earlier task."""
    inputs = inputs or "inputs of an earlier task"
    return TidemarkError(
        "ASYNC_SLOTS_STUCK",
        f"Column {column!r} can make no further call: what holds {slots} has passed its time-out, and "
        f"has not ended within {seconds:g} seconds more. The oldest call was made with {inputs}",
        "giving the client in the function a time-out of its own, shorter than timeout, or by an "
        "async function that ends when it is cancelled",
        column=column,
        slots=slots,
        inputs=inputs,
        seconds=seconds,
    )


def wrong_result(column: str, inputs: str, kind: str, reason: str) -> TidemarkError:
    return TidemarkError(
        "ASYNC_RESULT_TYPE",
        f"The function of column {column!r} was called with {inputs}, and its result is not of type {kind}: "
        f"{reason}",
        "returning a value of that type, or by another type in returns=",
        column=column,
        inputs=inputs,
        dataType=kind,
        reason=reason,
    )


def unreadable_input(column: str, name: str, error: BaseException) -> TidemarkError:
    return TidemarkError(
        "ASYNC_INPUT_VALUE",
        f"The input {name!r} of column {column!r} has a value that Python does not have: "
        f"{reason_of(error)}",
        "casting the input to a type that Python has, such as STRING, or by filtering such rows",
        column=column,
        input=name,
        error=reason_of(error),
    )


def service_failed(column: str, what: str, error: BaseException) -> TidemarkError:
    return TidemarkError(
        "ASYNC_SERVICE_FAILED",
        f"The service of column {column!r} could not be {what}: {reason_of(error)}",
        "giving service= a function without arguments that returns a context manager, and by "
        "seeing to it that the workers can reach the service",
        column=column,
        error=reason_of(error),
    )


def loop_blocked(column: str, inputs: str, seconds: float, place: str) -> TidemarkError:
    return TidemarkError(
        "ASYNC_LOOP_BLOCKED",
        f"The function of column {column!r} was called with {inputs}, and has let no other call run "
        f"for {seconds:g} seconds. It is at {place}",
        "awaiting what it waits for, or by giving a plain function in place of an async one: that "
        "runs in threads",
        column=column,
        inputs=inputs,
        seconds=seconds,
        place=place,
    )


def loop_stopped(column: str, error: BaseException) -> TidemarkError:
    return TidemarkError(
        "ASYNC_LOOP_STOPPED",
        f"The event loop of column {column!r} was stopped while calls were in flight: "
        f"{reason_of(error)}",
        "leaving the loop alone: neither the function nor the service, nor a task that they begin, may "
        "stop it, cancel what they have not begun, or raise SystemExit or KeyboardInterrupt in it",
        column=column,
        error=reason_of(error),
    )


def not_importable(column: str, error: BaseException) -> TidemarkError:
    return TidemarkError(
        "ASYNC_NOT_IMPORTABLE",
        f"The worker cannot load the function of column {column!r}, or its service or default: "
        f"{reason_of(error)}",
        "giving the workers that module with spark.addArtifacts or SparkContext.addPyFile, or by "
        "defining the function in the main program",
        column=column,
        error=reason_of(error),
    )
