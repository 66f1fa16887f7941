"""A cut: a position that divides a stream, so that every row up to a time is before it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from tidemark._errors import TidemarkError, invalid_option
from tidemark._marks.protocol.position import (
    MOST,
    DeltaPosition,
    FilesPosition,
    InvalidPositionError,
    KafkaPosition,
    MismatchError,
    NumberPosition,
    Position,
    SinkBatchPosition,
    encode_position,
    kind_of,
    mismatch,
    read_position,
)


class Chain(NamedTuple):
    """Which marks of a writer of files a cut has the files of, each mark as its epoch and number.

    A writer whose marks were all purged has a chain, too: no mark behind `after` has listed any file.

    Attributes:
        after: The mark before the first of them. The number is -1 if there was none.
        last: The last of them.
    """

    after: tuple[int, int]
    last: tuple[int, int]


@dataclass(frozen=True)
class Cut:
    """A position that divides a stream.

    Attributes:
        position: The position. A Kafka partition that it does not name is cut at its beginning.
        chains: For files, the marks of each writer whose files the position lists. It shows whether
            any marks between two cuts were purged.
    """

    position: Position
    chains: Mapping[str, Chain] = field(default_factory=dict, hash=False, repr=False)

    @property
    def kafka_offsets(self) -> str:
        """The offsets as Spark's `endingOffsets` and `startingOffsets` take them, as JSON text.

        Spark wants every partition of a topic: add those that are not named, with 0
        for `endingOffsets` and with -2 (earliest) for `startingOffsets`.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH` for a cut of something else.
        """
        if not isinstance(self.position, KafkaPosition):
            raise self._is_no("kafka")
        fields: object = json.loads(self.text)["kafka"]
        return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)

    @property
    def delta_version(self) -> int:
        """The last version before the cut, for `endingVersion`.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH` for a cut of something else.
        """
        if not isinstance(self.position, DeltaPosition):
            raise self._is_no("delta")
        return self.position.version

    @property
    def files(self) -> frozenset[str]:
        """The files before the cut, relative to the path that is read.

        Files of marks that were purged from the log are not among them.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH` for a cut of something else.
        """
        if not isinstance(self.position, FilesPosition):
            raise self._is_no("files")
        return self.position.files

    @property
    def text(self) -> str:
        """The cut as JSON text, for a configuration file; `from_text` reads it."""
        text = encode_position(self.position)
        if not self.chains:
            return text
        chains = {writer: self.chains[writer]._asdict() for writer in sorted(self.chains)}
        shown = json.dumps(chains, separators=(",", ":"), ensure_ascii=False)
        return f'{text[:-1]},"chains":{shown}}}'

    @overload
    @staticmethod
    def from_text(text: str) -> Cut: ...

    @overload
    @staticmethod
    def from_text(text: None) -> None: ...

    @staticmethod
    def from_text(text: str | None) -> Cut | None:
        """The cut of a text that `text` gave.

        Args:
            text: The text, or None where none is stored yet.

        Returns:
            The cut; None for None, which `read_between` takes for the beginning.

        Raises:
            TidemarkError: `INVALID_OPTION` for any other text.
        """
        if text is None:
            return None
        try:
            fields = json.loads(text)
            chains = fields.pop("chains", {}) if type(fields) is dict else {}
            return Cut(read_position(fields), _chains(chains))
        except (InvalidPositionError, ValueError, TypeError, KeyError) as problem:
            raise invalid_option(
                "text", text, "the text of a cut", "giving what Cut.text returned"
            ) from problem

    def compare(self, read: Position) -> int:
        """Where a reader is, as in Pravega's `WatermarkReaderImpl.compare`.

        Args:
            read: What has been read.

        Returns:
            1 if all before the cut has been read, and -1 if the reader is before the cut. It is 0
            if the reader is behind it in one part and before it in another.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH` if the position is of another kind.
        """
        try:
            return compared(_signs(read, self.position))
        except MismatchError as problem:
            raise self._is_no(kind_of(read)) from problem

    def _is_no(self, kind: str) -> TidemarkError:
        mine = kind_of(self.position)
        return TidemarkError(
            "MARK_POSITION_MISMATCH",
            f"The cut is of kind {mine}, not {kind}",
            f"using it for what it is: a position of kind {mine}",
            position=mine,
            other=kind,
        )


def _chains(value: object) -> dict[str, Chain]:
    if type(value) is not dict:
        raise InvalidPositionError("has chains that are not an object")
    return {
        writer: Chain(read_place(one["after"]), read_place(one["last"]))
        for writer, one in value.items()
    }


def read_place(value: object) -> tuple[int, int]:
    """The place of a mark from decoded JSON.

    Raises:
        InvalidPositionError: For everything else.
    """
    if type(value) is list and len(value) == 2:
        epoch, number = value
        if (
            type(epoch) is int
            and type(number) is int
            and 0 <= epoch <= MOST
            and -1 <= number <= MOST
        ):
            return epoch, number
    raise InvalidPositionError("has a mark that is not an epoch and a number")


def compared(signs: Iterable[int]) -> int:
    """The order of two positions by the order of their parts: 1 also if all parts are equal."""
    every = set(signs)
    is_below, is_above = any(one < 0 for one in every), any(one > 0 for one in every)
    if is_below:
        return 0 if is_above else -1
    return 1


def _signs(read: Position, cut: Position) -> list[int]:
    if isinstance(read, KafkaPosition) and isinstance(cut, KafkaPosition):
        return [
            read.offsets[topic].get(partition, -1) - offset
            for topic, offsets in cut.offsets.items()
            if topic in read.offsets
            for partition, offset in offsets.items()
        ]
    if isinstance(read, FilesPosition) and isinstance(cut, FilesPosition):
        is_missing, is_more = bool(cut.files - read.files), bool(read.files - cut.files)
        return [-1] * is_missing + [1] * is_more
    if isinstance(read, DeltaPosition) and isinstance(cut, DeltaPosition):
        if read.table_id == cut.table_id:
            return [read.version - cut.version]
    elif isinstance(read, SinkBatchPosition) and isinstance(cut, SinkBatchPosition):
        return [read.batch - cut.batch]
    elif isinstance(read, NumberPosition) and isinstance(cut, NumberPosition):
        return [read.number - cut.number]
    raise mismatch(read, cut)
