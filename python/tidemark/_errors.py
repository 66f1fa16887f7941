"""The error every refusal is raised as, and how to recognise the JVM's own refusals.

Python and Scala share one list of codes. A refusal that happens in the JVM reaches Python as one
of PySpark's exceptions with `[TIDEMARK.CODE]` in its text; `error_code` reads it out, so that a
caller can treat both alike.
"""

from __future__ import annotations

import re

_MARK = re.compile(r"\[TIDEMARK\.([A-Z][A-Z_]*)\]")


class TidemarkError(Exception):
    """An error of Tidemark, with a stable code and a way to fix it.

    Attributes:
        code: The stable name of the error, in capitals, e.g. `UNKNOWN_COLUMN`.
        message: A sentence that names the column, operator or setting, without its final period.
        fix: The text after "Fix this by", without its final period.
    """

    def __init__(self, code: str, message: str, fix: str) -> None:
        # All three go to Exception, so that the error survives pickling.
        super().__init__(code, message, fix)
        self.code = code
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"[TIDEMARK.{self.code}] {self.message}. Fix this by {self.fix}."


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
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if isinstance(current, TidemarkError):
            return current.code
        found = _MARK.search(str(current))
        if found:
            return found.group(1)
        # An error that is only the context of another one did not cause it.
        current = current.__cause__
    return None
