"""One mark as a line: `crc SP json LF`.

`crc` is the CRC-32 (IEEE, as in zlib) of the JSON's bytes, as 8 lower-case hex digits.
"""

from __future__ import annotations

import json
import zlib
from typing import NoReturn

from tidemark_marks._protocol.mark import Kind, Mark, read_place
from tidemark_marks._protocol.names import MOST_WRITER_BYTES
from tidemark_marks._protocol.position import (
    MOST,
    InvalidPositionError,
    encode_position,
    read_position,
)

VERSION = 1

MOST_LINE = 1 << 20
"""The longest line in bytes, without its line feed."""

LEAST_LINE = 9
"""The shortest line that can have a checksum."""

_KINDS: dict[object, Kind] = {"note": "note", "alive": "alive", "idle": "idle", "end": "end"}


class UnusableError(ValueError):
    """Why a line has no mark that can be used, in a few words."""


def encode(mark: Mark) -> bytes:
    """The line of a mark.

    Raises:
        UnusableError: If it would be longer than `MOST_LINE`.
    """
    writer = json.dumps(mark.writer, ensure_ascii=False)
    body = f'{{"v":{VERSION},"w":{writer},"e":{mark.epoch},"n":{mark.number},"k":"{mark.kind}"'
    if mark.time_millis is not None:
        body += f',"t":{mark.time_millis}'
    body += f',"at":{mark.written_millis}'
    if mark.position_text is not None:
        body += f',"p":{mark.position_text}'
    if mark.max_time_millis is not None:
        body += f',"m":{mark.max_time_millis}'
    if mark.after is not None:
        body += f',"after":[{mark.after[0]},{mark.after[1]}]'
    data = f"{body}}}".encode()
    if len(data) + 9 > MOST_LINE:
        raise UnusableError("too long")
    return b"%08x %s\n" % (zlib.crc32(data), data)


def checked(line: bytes) -> bytes:
    """The JSON of a line without its line feed.

    Raises:
        UnusableError: If the checksum is not that of the JSON.
    """
    body = line[9:]
    if line[:9] != b"%08x " % zlib.crc32(body):
        raise UnusableError("checksum")
    return body


def decode(body: bytes) -> Mark:
    """The mark of a line's JSON, with strict types. Unknown fields are skipped.

    Raises:
        UnusableError: For everything that the protocol does not allow, and for a later version.
    """
    try:
        fields = json.loads(body.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise UnusableError("json") from error
    if type(fields) is not dict:
        raise UnusableError("json")
    if _whole(fields, "v") > VERSION:
        raise UnusableError("version")
    if fields["v"] != VERSION:
        raise UnusableError("v")
    kind = _KINDS.get(fields.get("k")) if type(fields.get("k")) is str else None
    if kind is None:
        raise UnusableError("k")
    time = None if kind == "alive" or "t" not in fields else _whole(fields, "t", -MOST - 1)
    if kind == "note" and (time is None or "p" not in fields):
        raise UnusableError("t" if time is None else "p")
    return Mark(
        _writer(fields),
        _whole(fields, "e"),
        _whole(fields, "n"),
        kind,
        time,
        _whole(fields, "at"),
        _position(fields),
        _whole(fields, "m", -MOST - 1) if "m" in fields else None,
        _after(fields),
    )


def _no_constant(_: str) -> NoReturn:
    raise ValueError


def _whole(fields: dict[str, object], name: str, least: int = 0) -> int:
    value = fields.get(name)
    if type(value) is not int or not least <= value <= MOST:
        raise UnusableError(name)
    return value


def _writer(fields: dict[str, object]) -> str:
    value = fields.get("w")
    try:
        if type(value) is str and 1 <= len(value.encode()) <= MOST_WRITER_BYTES:
            return value
    except UnicodeEncodeError:
        pass
    raise UnusableError("w")


def _position(fields: dict[str, object]) -> str | None:
    if "p" not in fields:
        return None
    try:
        return encode_position(read_position(fields["p"]))
    except InvalidPositionError as error:
        raise UnusableError("p") from error


def _after(fields: dict[str, object]) -> tuple[int, int] | None:
    if "after" not in fields:
        return None
    place = read_place(fields["after"], least_number=0)
    if place is None:
        raise UnusableError("after")
    return place
