"""Reads lines that have the form in which this package writes them, without decoding JSON.

A log of a million marks is read three times as fast this way. A line of any other form is left to
`text`, and a line of this form means the same there: a test holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tidemark._marks.mark import Kind, Mark
from tidemark._marks.text import prefix

_WHOLE = r"(?:0|[1-9][0-9]{0,17})"
_SIGNED = r"(?:0|-?[1-9][0-9]{0,17})"
_PARTITION = rf'"(?:0|[1-9][0-9]{{0,8}})":{_WHOLE}'
_TOPIC = rf'"[A-Za-z0-9._-]+":\{{(?:{_PARTITION}(?:,{_PARTITION})*)?\}}'
_FILE = r'"[ !#-\[\]-~]+"'
_POSITION = (
    rf'\{{"kafka":\{{(?:{_TOPIC}(?:,{_TOPIC})*)?\}}\}}'
    rf'|\{{"files":\[(?:{_FILE}(?:,{_FILE})*)?\]\}}'
    rf'|\{{"number":{_SIGNED}\}}|\{{"sink":\{{"batch":{_WHOLE}\}}\}}'
)
_REST = re.compile(
    rf'({_WHOLE}),"k":"(note|alive|idle|end)"(?:,"t":({_SIGNED}))?,"at":({_WHOLE})'
    rf'(?:,"p":({_POSITION}))?(?:,"m":({_SIGNED}))?(?:,"after":\[({_WHOLE}),({_WHOLE})\])?\}}'.encode()
)

_KINDS: dict[bytes, Kind] = {b"note": "note", b"alive": "alive", b"idle": "idle", b"end": "end"}

# A longer line could name more partitions or files than a mark may.
_MOST = 4096


def reader(writer: str, epoch: int) -> Callable[[bytes], Mark | None]:
    """Reads the JSON of a life's marks; the result is None for a form that it does not know."""
    begin = prefix(writer, epoch).encode()
    skip = len(begin)
    rest = _REST.fullmatch

    def read(body: bytes) -> Mark | None:
        if len(body) > _MOST or not body.startswith(begin):
            return None
        found = rest(body, skip)
        if found is None:
            return None
        number, kind, time, at, position, largest, after, after_number = found.groups()
        if kind == b"note":
            if time is None or position is None:
                return None
        elif kind == b"alive" and time is not None:
            return None
        return Mark(
            writer,
            epoch,
            int(number),
            _KINDS[kind],
            None if time is None else int(time),
            int(at),
            None if position is None else position.decode(),
            None if largest is None else int(largest),
            None if after is None else (int(after), int(after_number)),
        )

    return read
