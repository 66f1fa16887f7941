"""The records of a mark log in Kafka: key `<stream> NUL <writer>`, value a mark or a claim as JSON.

A claim takes an epoch for a life before that life says anything. It is not a mark. Its `id` tells two
lives apart that want the same epoch.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from tidemark_marks._protocol.mark import Mark
from tidemark_marks._protocol.position import MOST
from tidemark_marks._protocol.text import MOST_LINE, VERSION, UnusableError, encode

_CHECKSUM_BYTES = 9


class Claim(NamedTuple):
    """What a record of a writer says of epochs.

    Attributes:
        epoch: The epoch of its life.
        claim: The claim's id; None if the record is not a claim.
    """

    epoch: int
    claim: str | None


def key_of(stream: str, writer: str) -> bytes:
    """The key of a writer's records."""
    return f"{stream}\0{writer}".encode()


def writer_of(key: bytes | None, stream: str) -> str | None:
    """The writer of a record of a stream; None for another stream.

    Raises:
        UnusableError: For a key that is not of this form.
    """
    name, separator, writer = (key or b"").partition(b"\0")
    if not separator:
        raise UnusableError("key")
    if name != stream.encode():
        return None
    try:
        return writer.decode()
    except UnicodeDecodeError as problem:
        raise UnusableError("key") from problem


def encode_value(mark: Mark) -> bytes:
    """The JSON of a mark. Kafka has checksums of its own.

    Raises:
        UnusableError: If it would be too long.
    """
    return encode(mark)[_CHECKSUM_BYTES:-1]


def encode_claim(writer: str, epoch: int, claim: str, now_millis: int) -> bytes:
    """The JSON of a claim."""
    fields = {"v": VERSION, "w": writer, "e": epoch, "k": "claim", "id": claim, "at": now_millis}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def read_claim(value: bytes | None) -> Claim | None:
    """The epoch that a record takes, whatever else it says; None if it names none.

    A record of a later version takes its epoch too.
    """
    if value is None or len(value) > MOST_LINE:
        return None
    try:
        fields = json.loads(value.decode())
    except (ValueError, RecursionError):
        return None
    epoch = fields.get("e") if type(fields) is dict else None
    if type(epoch) is not int or not 0 <= epoch <= MOST:
        return None
    is_claim = fields.get("k") == "claim"
    return Claim(epoch, str(fields.get("id")) if is_claim else None)
