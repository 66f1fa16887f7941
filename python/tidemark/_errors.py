"""The error that Tidemark raises, and how to recognize the errors of its engine.

Python and Scala share one list of codes and of their parameters. An error of the engine arrives as
one of PySpark's exceptions with `[TIDEMARK.CODE]` in its text. `error_code` and `error_parameters`
read both kinds, so a caller can treat them alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from tidemark import _bridge

_MARK = re.compile(r"\[TIDEMARK\.([A-Z][A-Z_]*)\]")


class TidemarkError(Exception):
    """An error of Tidemark, with a stable code and a way to fix it.

    Attributes:
        code: The stable name of the error, in capitals, e.g. `UNKNOWN_COLUMN`.
        message: A sentence that names the column, operator or setting, without its final period.
        fix: The text after "Fix this by", without its final period.
    """

    def __init__(self, code: str, message: str, fix: str, **parameters: object) -> None:
        # All three go to Exception, so that the error survives pickling; attributes do so anyway.
        super().__init__(code, message, fix)
        self.code = code
        self.message = message
        self.fix = fix
        self._parameters = {name: str(value) for name, value in parameters.items()}

    @property
    def parameters(self) -> Mapping[str, str]:
        """The values in the sentence by name, each as text, e.g. `{"column": "time"}`.

        The names are as stable as the code, and `docs/errors.md` lists them. The mapping is
        read-only.
        """
        return MappingProxyType(self._parameters)

    def __str__(self) -> str:
        return f"[TIDEMARK.{self.code}] {self.message}. Fix this by {self.fix}."


def invalid_option(
    option: str,
    value: object,
    allowed: str | Sequence[str],
    fix: str = "giving that, or by leaving it out",
) -> TidemarkError:
    """The error for an argument, or an option, that is not what it must be: `INVALID_OPTION`.

    Args:
        option: Its name, as the user gives it.
        value: What was given.
        allowed: What it must be, as it continues after "it must be", or all values that it may have.
        fix: What to do, as it continues after "Fix this by".
    """
    values = [allowed] if isinstance(allowed, str) else [f"'{value}'" for value in allowed]
    one_of = " or ".join(filter(None, (", ".join(values[:-1]), values[-1])))
    return TidemarkError(
        "INVALID_OPTION",
        f"{option} is {value!r}, but it must be {one_of}",
        fix,
        option=option,
        value=value,
        allowed=allowed if isinstance(allowed, str) else ", ".join(allowed),
    )


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
