"""The error that Tidemark raises, in this package and in `tidemark`.

Example:
    >>> from tidemark_marks.errors import TidemarkError
    >>> print(TidemarkError("MARK_GOES_BACK", "The time is earlier", "noting a later one"))
    [TIDEMARK.MARK_GOES_BACK] The time is earlier. Fix this by noting a later one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

__all__ = ["TidemarkError"]


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
    fix: str = "",
) -> TidemarkError:
    """The error for an argument, or an option, that is not what it must be: `INVALID_OPTION`.

    Args:
        option: Its name, as the user gives it.
        value: What was given.
        allowed: What it must be, as it continues after "it must be", or all values that it may have.
        fix: What to do, as it continues after "Fix this by"; by default, giving what it must be.
    """
    values = [allowed] if isinstance(allowed, str) else [f"'{value}'" for value in allowed]
    one_of = " or ".join(filter(None, (", ".join(values[:-1]), values[-1])))
    return TidemarkError(
        "INVALID_OPTION",
        f"{option} is {value!r}, but it must be {one_of}",
        fix or f"giving {one_of}",
        option=option,
        value=value,
        allowed=allowed if isinstance(allowed, str) else ", ".join(allowed),
    )
