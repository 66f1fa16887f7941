"""What a call is refused with: the code of its error, and its parameters, but not their sentence.

The sentences are in `golden/errors.txt`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tidemark.errors import error_code, error_parameters


@contextmanager
def raising(code: str, **parameters: object) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """The block raises an error of this code whose parameters have these values.

    Args:
        code: The code, wherever the error comes from.
        parameters: Those that matter to the test, each compared as text.
    """
    with pytest.raises(Exception) as caught:  # noqa: PT011
        yield caught
    assert error_code(caught.value) == code, caught.value
    found = error_parameters(caught.value)
    assert {name: found.get(name) for name in parameters} == {
        name: str(value) for name, value in parameters.items()
    }
