"""Lines that a terminal can show, whatever users have called their columns and queries."""

from __future__ import annotations

LONGEST_NAME = 60


def printable(line: str) -> str:
    r"""A line of text in which everything that does not print is escaped.

    A name may have a line break, what a terminal takes for a command, or what turns the direction of text.

    Example:
        >>> print(printable("orders\x1b[2J"))
        orders\x1b[2J
    """
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


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
