"""Lines that a terminal can show, whatever users have called their columns and queries."""

from __future__ import annotations

from tidemark_marks.shared import printable

LONGEST_NAME = 60


def name_of(what: object) -> str:
    """What users have called something, `printable`, and cut where it is long, as the engine cuts it.

    Example:
        >>> print(name_of("x" * 61) == "x" * 60 + "...")
        True
    """
    text = ""
    for character in str(what):
        if len(text) >= LONGEST_NAME:
            return f"{text}..."
        text += printable(character)
    return text
