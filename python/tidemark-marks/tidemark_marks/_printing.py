"""Lines that a terminal can show, whatever users have called their writers and columns."""

from __future__ import annotations


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
