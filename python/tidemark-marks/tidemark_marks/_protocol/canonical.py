"""Reads marks that have the form in which this package writes them, without decoding JSON.

A first reading of 100,000 marks takes 0.3 s this way, and 1.7 s by `text` alone: a program that asks
once whether an hour is complete always reads for the first time. A file with a line of any other
form is left to `text`, and so is such a record. A mark of this form means the same there: a test
holds the two together.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from tidemark_marks._protocol.mark import Kind, Mark
from tidemark_marks._protocol.text import decode, prefix

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
# What all marks of a life begin with is compared as a whole: a pattern for each life takes longer to make.
_BEGIN = r'\{"v":1,"w":"[^"\\\n]+","e":[0-9]+,"n":'
_JSON = (
    rf'({_BEGIN})({_WHOLE}),"k":"(note|alive|idle|end)"(?:,"t":({_SIGNED}))?,"at":({_WHOLE})'
    rf'(?:,"p":({_POSITION}))?(?:,"m":({_SIGNED}))?(?:,"after":\[({_WHOLE}),({_WHOLE})\])?\}}'
)
_LINE = re.compile(rf"^([0-9a-f]{{8}}) ({_JSON})$", re.MULTILINE)
_RECORD = re.compile(_JSON)

_KINDS: dict[str, Kind] = {"note": "note", "alive": "alive", "idle": "idle", "end": "end"}

# A longer line could name more partitions or files than a mark may.
_MOST = 4096

_MOST_LIVES = 10_000


def read(data: bytes, writer: str, epoch: int) -> list[Mark] | None:
    """The marks of a file of one life; None if it has anything else than whole lines of this form.

    Args:
        data: All bytes of the file.
        writer: The writer that the file's name says.
        epoch: The epoch that it says.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    found = _LINE.findall(text)
    if len(found) != text.count("\n") or text[-1:] not in ("", "\n"):
        return None
    try:
        return list(_marks(found, writer, epoch))
    except _OtherFormError:
        return None


class _OtherFormError(Exception):
    """A line is not of the form, or its checksum is wrong."""


def _marks(found: list[tuple[str, ...]], writer: str, epoch: int) -> Iterator[Mark]:
    begin = prefix(writer, epoch)
    for checksum, body, began, number, kind, time, at, position, largest, after, follows in found:
        if began != begin or len(body) > _MOST or int(checksum, 16) != zlib.crc32(body.encode()):
            raise _OtherFormError
        yield _mark(writer, epoch, number, kind, time, at, position, largest, after, follows)


def _mark(
    writer: str,
    epoch: int,
    number: str,
    kind: str,
    time: str,
    at: str,
    position: str,
    largest: str,
    after: str,
    follows: str,
) -> Mark:
    # A missing group is empty.
    if (kind == "note" and not (time and position)) or (kind == "alive" and time):
        raise _OtherFormError
    # Half the time of a call of the class.
    return tuple.__new__(
        Mark,
        (
            writer,
            epoch,
            int(number),
            _KINDS[kind],
            int(time) if time else None,
            int(at),
            position or None,
            int(largest) if largest else None,
            (int(after), int(follows)) if after else None,
        ),
    )


class Records:
    """Reads the marks of records, each of which may be of another writer and life."""

    def __init__(self) -> None:
        # What the JSON of a life's marks begins with.
        self._lives: dict[str, tuple[str, int]] = {}

    def read(self, value: bytes) -> Mark:
        """The mark of a record's value.

        Raises:
            UnusableError: As `text.decode`.
        """
        found = self._quickly(value) if len(value) <= _MOST else None
        if found is None:
            found = decode(value)
            if len(self._lives) < _MOST_LIVES:
                self._lives[prefix(found.writer, found.epoch)] = found.writer, found.epoch
        return found

    def _quickly(self, value: bytes) -> Mark | None:
        try:
            match = _RECORD.fullmatch(value.decode())
        except UnicodeDecodeError:
            return None
        if match is None:
            return None
        begin, *fields = match.groups("")
        life = self._lives.get(begin)
        if life is None:
            return None
        try:
            return _mark(*life, *fields)
        except _OtherFormError:
            return None
