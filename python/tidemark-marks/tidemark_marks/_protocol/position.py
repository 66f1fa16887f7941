"""Where a writer was when it noted a time.

A Kafka, Delta, sink or number position is absolute: it says where the writer is. A list of files is
relative: it says what was finished since the writer's mark before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

MOST_ENTRIES = 10_000
"""The most partitions or files that one mark may name."""

MOST = 2**63 - 1
"""The largest number of the protocol."""

_MOST_PARTITION = 2**31 - 1


class InvalidPositionError(ValueError):
    """What is wrong with a position, as it continues after its name: `has a negative offset`."""


class MismatchError(ValueError):
    """Two positions that cannot be compared: the kind of each, or more where the kinds are equal."""


@dataclass(frozen=True)
class KafkaPosition:
    """For each topic and partition the offset of the next record, as in Spark's offset log.

    Attributes:
        offsets: Topic to partition to offset; a partition that is left out has no rows of the
            writer yet.
    """

    offsets: Mapping[str, Mapping[int, int]]


@dataclass(frozen=True)
class DeltaPosition:
    """A version of a Delta table, which is included.

    Attributes:
        table_id: The table's ID, as in its metadata.
        version: The last version with rows of the writer.
    """

    table_id: str
    version: int


@dataclass(frozen=True)
class SinkBatchPosition:
    """All files that Spark's file sink lists in `_spark_metadata` up to a batch, included.

    Attributes:
        batch: The number of the batch.
    """

    batch: int


@dataclass(frozen=True)
class FilesPosition:
    """Files that the writer has finished since its mark before.

    Attributes:
        files: Their names relative to the path that is read, with `/` between parts.
    """

    files: frozenset[str]


@dataclass(frozen=True)
class NumberPosition:
    """A source whose offset is one number.

    Attributes:
        number: The number of the next row.
    """

    number: int


Position: TypeAlias = (
    KafkaPosition | DeltaPosition | SinkBatchPosition | FilesPosition | NumberPosition
)

_KINDS = {
    KafkaPosition: "kafka",
    DeltaPosition: "delta",
    SinkBatchPosition: "sink",
    FilesPosition: "files",
    NumberPosition: "number",
}


def kind_of(position: Position) -> str:
    """The kind of a position by its name in the protocol, such as `kafka`."""
    return _KINDS[type(position)]


def encode_position(position: Position) -> str:
    """A position as JSON text, always the same for the same position.

    Raises:
        InvalidPositionError: For values that the protocol does not allow.
    """
    inner: object
    if isinstance(position, KafkaPosition):
        inner = {
            topic: {_partition(partition): offsets[partition] for partition in sorted(offsets)}
            for topic, offsets in sorted(position.offsets.items())
        }
    elif isinstance(position, DeltaPosition):
        inner = {"id": position.table_id, "version": position.version}
    elif isinstance(position, SinkBatchPosition):
        inner = {"batch": position.batch}
    elif isinstance(position, FilesPosition):
        inner = sorted(position.files)
    else:
        inner = position.number
    fields = {kind_of(position): inner}
    read_position(fields)
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def decode_position(text: str) -> Position:
    """A position from its JSON text."""
    return read_position(json.loads(text))


def read_position(value: object) -> Position:
    """A position from decoded JSON, with strict types.

    Raises:
        InvalidPositionError: For everything else.
    """
    if type(value) is not dict or len(value) != 1:
        raise InvalidPositionError("is not one kind of position")
    ((kind, inner),) = value.items()
    if kind == "kafka":
        return KafkaPosition(_topics(inner))
    if kind == "files":
        return FilesPosition(_files(inner))
    if kind == "number":
        return NumberPosition(_whole(inner, "number", -MOST - 1))
    if kind == "sink" and type(inner) is dict:
        return SinkBatchPosition(_whole(inner.get("batch"), "batch"))
    if kind == "delta" and type(inner) is dict:
        table_id = _text(inner.get("id"), "table ID")
        return DeltaPosition(table_id, _whole(inner.get("version"), "version"))
    raise InvalidPositionError("is not of a known kind")


def _partition(number: object) -> str:
    if type(number) is not int:
        raise InvalidPositionError("has a partition that is not a number")
    return str(number)


def _topics(value: object) -> dict[str, dict[int, int]]:
    if type(value) is not dict:
        raise InvalidPositionError("has no topics")
    found = {_text(topic, "topic"): _partitions(offsets) for topic, offsets in value.items()}
    if sum(len(offsets) for offsets in found.values()) > MOST_ENTRIES:
        raise InvalidPositionError(f"has more than {MOST_ENTRIES} partitions")
    return found


def _partitions(value: object) -> dict[int, int]:
    if type(value) is not dict:
        raise InvalidPositionError("has a topic without partitions")
    found = {}
    for name, offset in value.items():
        is_number = name.isascii() and name.isdigit() and len(name) <= 10
        number = int(name) if is_number else -1
        if not is_number or str(number) != name or number > _MOST_PARTITION:
            raise InvalidPositionError("has a partition that is not a number")
        found[number] = _whole(offset, "offset")
    return found


def _files(value: object) -> frozenset[str]:
    if type(value) is not list:
        raise InvalidPositionError("has no list of files")
    if len(value) > MOST_ENTRIES:
        raise InvalidPositionError(f"has more than {MOST_ENTRIES} files")
    return frozenset(_text(name, "file name") for name in value)


def _text(value: object, what: str) -> str:
    # A lone surrogate is text in Python, but not in UTF-8.
    if type(value) is not str or not value or not _is_utf8(value):
        raise InvalidPositionError(f"has a {what} that is not text")
    return value


def _whole(value: object, what: str, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= MOST:
        raise InvalidPositionError(f"has a {what} that is not a number of 64 bits, or is negative")
    return value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_passed(position: Position, read: Position) -> bool:
    """Whether all before `position` has been read, where `read` says what has been.

    Files count alone here; `rules` adds the marks before. A topic that `read` does not name is not
    compared. A partition that `read` does not name has not been reached.

    Raises:
        MismatchError: If the two are of different kinds.
    """
    if isinstance(position, KafkaPosition) and isinstance(read, KafkaPosition):
        return all(
            offset <= read.offsets[topic].get(partition, -1)
            for topic, offsets in position.offsets.items()
            if topic in read.offsets
            for partition, offset in offsets.items()
        )
    if isinstance(position, FilesPosition) and isinstance(read, FilesPosition):
        return position.files <= read.files
    if isinstance(position, DeltaPosition) and isinstance(read, DeltaPosition):
        return position.table_id == read.table_id and position.version <= read.version
    if isinstance(position, SinkBatchPosition) and isinstance(read, SinkBatchPosition):
        return position.batch <= read.batch
    if isinstance(position, NumberPosition) and isinstance(read, NumberPosition):
        return position.number <= read.number
    raise mismatch(position, read)


def joined(first: Position, second: Position) -> Position:
    """The least position that is at or after both: where all before either has been read.

    Raises:
        MismatchError: If they are of different kinds or tables.
    """
    if isinstance(first, KafkaPosition) and isinstance(second, KafkaPosition):
        found = {topic: dict(offsets) for topic, offsets in first.offsets.items()}
        for topic, offsets in second.offsets.items():
            mine = found.setdefault(topic, {})
            for partition, offset in offsets.items():
                mine[partition] = max(offset, mine.get(partition, offset))
        return KafkaPosition(found)
    if isinstance(first, FilesPosition) and isinstance(second, FilesPosition):
        return FilesPosition(first.files | second.files)
    if isinstance(first, DeltaPosition) and isinstance(second, DeltaPosition):
        if first.table_id == second.table_id:
            return DeltaPosition(first.table_id, max(first.version, second.version))
    elif isinstance(first, SinkBatchPosition) and isinstance(second, SinkBatchPosition):
        return SinkBatchPosition(max(first.batch, second.batch))
    elif isinstance(first, NumberPosition) and isinstance(second, NumberPosition):
        return NumberPosition(max(first.number, second.number))
    raise mismatch(first, second)


def mismatch(position: Position, other: Position) -> MismatchError:
    """The error for two positions of different kinds or tables."""
    kind, other_kind = kind_of(position), kind_of(other)
    if isinstance(position, DeltaPosition) and isinstance(other, DeltaPosition):
        kind, other_kind = f"delta table {position.table_id}", f"delta table {other.table_id}"
    return MismatchError(kind, other_kind)
