"""The error that Tidemark raises, and what says which one a caught exception is.

Example:
    >>> from tidemark.errors import TidemarkError, error_code
    >>> error_code(TidemarkError("UNKNOWN_COLUMN", "No 'a'", "naming it", column="a"))
    'UNKNOWN_COLUMN'
"""

from __future__ import annotations

from tidemark._errors import TidemarkError, error_code, error_parameters

__all__ = ["TidemarkError", "error_code", "error_parameters"]
