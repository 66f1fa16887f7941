"""The error that Tidemark raises, and how to recognize the errors of its engine.

Python and Scala share one list of codes and of their parameters. An error of the engine arrives as
one of PySpark's exceptions with `[TIDEMARK.CODE]` in its text. `error_code` and `error_parameters`
read both kinds, so a caller can treat them alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidemark import _bridge
from tidemark_marks.errors import TidemarkError
from tidemark_marks.shared import invalid_option

__all__ = ["TidemarkError", "error_code", "error_parameters", "invalid_option"]

_MARK = re.compile(r"\[TIDEMARK\.([A-Z][A-Z_]*)\]")


def error_code(error: BaseException) -> str | None:
    """The Tidemark code of an exception, from anywhere in its chain of causes.

    Args:
        error: Any exception: Tidemark's own, or one of PySpark's that wraps a JVM error.

    Returns:
        The code without its prefix, e.g. `"DUPLICATE_KEY"`, or None for any other error.

    Example:
        >>> error_code(RuntimeError("job failed: [TIDEMARK.DUPLICATE_KEY] The key ..."))
        'DUPLICATE_KEY'
    """
    for cause in _causes(error):
        if isinstance(cause, TidemarkError):
            return cause.code
        found = _MARK.search(str(cause))
        if found:
            return found.group(1)
    return None


def error_parameters(error: BaseException) -> dict[str, str]:
    """The parameters of a Tidemark error, from anywhere in an exception's chain of causes.

    On Spark Connect, an error that has ended a streaming query has no parameters, because Spark
    sends only its text.

    Args:
        error: Any exception: Tidemark's own, or one of PySpark's that wraps a JVM error.

    Returns:
        The parameters by name, each as text; empty for any other error.

    Example:
        >>> error_parameters(TidemarkError("UNKNOWN_COLUMN", "No 'a'", "naming it", column="a"))
        {'column': 'a'}
    """
    for cause in _causes(error):
        if isinstance(cause, TidemarkError):
            return dict(cause.parameters)
        parameters = _bridge.message_parameters(cause, "TIDEMARK.")
        if parameters is not None:
            return parameters
    return {}


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, in Python or in the JVM."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        # An error that is only the context of another one did not cause it.
        current = current.__cause__ or _bridge.jvm_cause(current)
