"""A cut: a position that divides a stream, so that every row up to a time is before it.

The cut at a time has the first position of each writer at which it had noted the time, joined.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from tidemark_marks._protocol.mark import read_place
from tidemark_marks._protocol.position import (
    DeltaPosition,
    FilesPosition,
    InvalidPositionError,
    KafkaPosition,
    MismatchError,
    NumberPosition,
    Position,
    SinkBatchPosition,
    encode_position,
    joined,
    kind_of,
    mismatch,
    read_position,
)
from tidemark_marks._protocol.times import shown
from tidemark_marks._reading.html import AsTable
from tidemark_marks._reading.rules import History, position_mismatch
from tidemark_marks.errors import TidemarkError, invalid_option


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
class Cut(AsTable):
    """A position that divides a stream.

    Attributes:
        position: The position. A Kafka partition that it does not name is cut at its beginning.
        chains: For files, the marks of each writer whose files the position lists. It shows whether
            any marks between two cuts were purged.
    """

    position: Position
    chains: Mapping[str, Chain] = field(default_factory=dict, hash=False, repr=False)

    def _shown(self) -> Mapping[str, object]:
        if isinstance(self.position, KafkaPosition):
            return {
                f"{topic}, partition {partition}": offset
                for topic, offsets in sorted(self.position.offsets.items())
                for partition, offset in sorted(offsets.items())
            }
        if isinstance(self.position, FilesPosition):
            return dict.fromkeys(sorted(self.position.files), "before the cut")
        return {kind_of(self.position): encode_position(self.position)}

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

    def is_read(self, read: Position) -> bool:
        """Whether everything before the cut has been read.

        Args:
            read: What has been read.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH` if the position is of another kind.
        """
        return all(sign >= 0 for sign in self._signs(read))

    def contains(self, read: Position) -> bool:
        """Whether everything that has been read is before the cut.

        Args:
            read: What has been read.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH` if the position is of another kind.
        """
        return all(sign <= 0 for sign in self._signs(read))

    def _signs(self, read: Position) -> list[int]:
        try:
            return _signs(read, self.position)
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
        writer: Chain(place_in_cut(chain["after"]), place_in_cut(chain["last"]))
        for writer, chain in value.items()
    }


def place_in_cut(value: object) -> tuple[int, int]:
    """The place of a mark from decoded JSON; its number is -1 in front of the first one.

    Raises:
        InvalidPositionError: For everything else.
    """
    place = read_place(value, least_number=-1)
    if place is None:
        raise InvalidPositionError("has a mark that is not an epoch and a number")
    return place


def _signs(read: Position, cut: Position) -> list[int]:
    """Where a reader is in each part of a cut: below zero before it, above zero behind it."""
    if isinstance(read, KafkaPosition) and isinstance(cut, KafkaPosition):
        return [
            read.offsets[topic].get(partition, -1) - offset
            for topic, offsets in cut.offsets.items()
            if topic in read.offsets
            for partition, offset in offsets.items()
        ] + [
            offset
            for topic, offsets in read.offsets.items()
            if topic in cut.offsets
            for partition, offset in offsets.items()
            if partition not in cut.offsets[topic]
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


def ends_at(
    histories: Mapping[str, History],
    expected: Collection[str],
    left_out: Collection[str],
    millis: int,
) -> dict[str, int]:
    """The place of the first mark of each writer at which it had noted a time; -1 for none.

    Args:
        histories: The writers and their marks.
        expected: Writers that must have come so far.
        left_out: Writers whose last mark is taken, though they have not come so far.
        millis: The time, in ms since the epoch.

    Raises:
        TidemarkError: `NO_CUT`.
    """
    for writer in sorted(set(expected) - histories.keys()):
        raise _no_cut(millis, f"writer '{writer}' has noted no time yet", writer)
    return {
        writer: _end(history, millis, writer in left_out) for writer, history in histories.items()
    }


def joined_cut(
    histories: Mapping[str, History],
    ends: Mapping[str, int],
    millis: int,
    purged: Mapping[str, Chain] | None = None,
) -> Cut:
    """The joined positions of all writers.

    Args:
        histories: The writers and their marks.
        ends: The place of a mark of each writer.
        millis: The time that is asked for, in ms since the epoch.
        purged: What was purged of writers of files.

    Raises:
        TidemarkError: `NO_CUT` if there is no position; `MARK_POSITION_MISMATCH`.
    """
    cut: Position | None = None
    gone = {
        writer: chain
        for writer, chain in (purged or {}).items()
        # Where such marks are still there, they say all themselves.
        if writer not in histories or chain.last < histories[writer].marks[0].place
    }
    chains: dict[str, Chain] = {}
    for writer, history in histories.items():
        position = history.position(ends[writer])
        try:
            if position is not None:
                cut = position if cut is None else joined(cut, position)
        except MismatchError as problem:
            raise position_mismatch(writer, problem) from problem
        if history.is_relative and ends[writer] >= 0:
            chains[writer] = _chain(history, ends[writer], gone.get(writer))
    if cut is None:
        raise _no_cut(millis, "no writer has noted a position yet", "")
    if isinstance(cut, FilesPosition):
        chains = {**gone, **chains}
    return Cut(cut, chains)


def _chain(history: History, end: int, purged: Chain | None) -> Chain:
    after = history.after
    if purged is not None and (history.is_whole or after == purged.last):
        # None of the marks in between has listed a file.
        after = purged.after
    return Chain(after, history.marks[end].place)


def _end(history: History, millis: int, is_left_out: bool) -> int:
    marks = history.marks[: history.usable]
    for at in history.notes:
        noted = history.marks[at].time_millis
        if at < len(marks) and noted is not None and noted >= millis:
            return at
    if is_left_out or history.is_done:
        return len(marks) - 1
    last = history.noted_millis
    noted_so_far = "no time yet" if last is None else f"times up to {shown(last)}"
    why = f"writer '{history.writer}' has noted {noted_so_far}"
    if len(marks) < len(history.marks):
        why += ", and a mark behind that is missing"
    raise _no_cut(millis, why, history.writer)


def _no_cut(millis: int, why: str, writer: str) -> TidemarkError:
    return TidemarkError(
        "NO_CUT",
        f"There is no cut at {shown(millis)}: {why}",
        "asking for an earlier time, or by waiting until is_complete(time) is true",
        time=shown(millis),
        writer=writer,
        reason=why,
    )
