"""The names of a mark log's files.

<writer>.<epoch>.0.marks, <writer>.<epoch>.1.marks     the newest marks of a life, in turn
<writer>.<epoch>.<first>-<last>.marks                  older ones, which never change
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidemark_marks.errors import invalid_option

MOST_NAME = 160
"""The longest encoded writer: file systems allow 255 bytes, and the rest of a name takes up to 91."""

MOST_WRITER_BYTES = 200

_NUMBER = "(0|[1-9][0-9]{0,18})"
_FILE = re.compile(
    rf"((?:[A-Za-z0-9_-]|%[0-9A-F]{{2}})+)\.{_NUMBER}\.(?:([01])|{_NUMBER}-{_NUMBER})\.marks"
)
_TEMPORARY = re.compile(rf"\.(.+)\.{_NUMBER}\.tmp")
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


@dataclass(frozen=True)
class FileName:
    """What the name of a file says of the marks in it.

    Attributes:
        writer: The writer's name, decoded.
        epoch: The writer's life.
        slot: 0 or 1 for a live file; None for a sealed one.
        first: The number of the first mark of a sealed file; None for a live one.
        last: The number of its last mark.
    """

    writer: str
    epoch: int
    slot: int | None = None
    first: int | None = None
    last: int | None = None

    @property
    def text(self) -> str:
        """The name of the file."""
        part = f"{self.first}-{self.last}" if self.slot is None else str(self.slot)
        return f"{encode_writer(self.writer)}.{self.epoch}.{part}.marks"


def parse(name: str) -> FileName | None:
    """What a file's name says; None if it is not a file of marks."""
    found = _FILE.fullmatch(name)
    if found is None:
        return None
    text, epoch, slot, first, last = found.groups()
    writer = _decode_writer(text)
    if writer is None or encode_writer(writer) != text:
        return None
    if slot is not None:
        return FileName(writer, int(epoch), slot=int(slot))
    return FileName(writer, int(epoch), first=int(first), last=int(last))


def temporary_epoch(name: str) -> int | None:
    """The epoch of the life whose temporary file it is; None for any other name."""
    found = _TEMPORARY.fullmatch(name)
    file = None if found is None else parse(found[1])
    return None if found is None or file is None else int(found[2])


def encode_writer(writer: str) -> str:
    """A writer in the name of a file: each byte outside `A-Z a-z 0-9 _ -` is `%XX`."""
    return "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in writer.encode())


def own_prefix(writer: str) -> str:
    """What the names of a writer's files begin with, and no names of other writers' files."""
    return f"{encode_writer(writer)}."


def _decode_writer(text: str) -> str | None:
    parts = re.split("%(..)", text)
    plain, escaped = parts[::2], [*parts[1::2], ""]
    try:
        return b"".join(
            text.encode() + bytes.fromhex(byte) for text, byte in zip(plain, escaped, strict=True)
        ).decode()
    except UnicodeDecodeError:
        return None


def require_writer(writer: object) -> str:
    """A writer's name that can be written.

    Raises:
        TidemarkError: `INVALID_OPTION` for what is not text, is empty, or is too long.
    """
    try:
        if isinstance(writer, str) and 0 < len(encode_writer(writer)) <= MOST_NAME:
            return writer
    except UnicodeEncodeError:
        pass
    raise invalid_option(
        "writer",
        writer,
        f"text of 1 to {MOST_NAME} characters, where each other than A-Z a-z 0-9 _ - counts as 3 for each byte",
        "naming a process or a region, such as 'gateway-7', and not a device or a request",
    )
