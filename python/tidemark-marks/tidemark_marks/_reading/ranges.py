"""What lies between two cuts, or between two event times, as a batch reader takes it. No Spark here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tidemark_marks._protocol.position import (
    DeltaPosition,
    FilesPosition,
    KafkaPosition,
    Position,
    kind_of,
)
from tidemark_marks._reading.cut import Cut
from tidemark_marks._reading.rules import History
from tidemark_marks.errors import TidemarkError, invalid_option

Offsets: TypeAlias = Mapping[str, Mapping[int, int]]

_NO_KAFKA = KafkaPosition({})
_NO_FILES = FilesPosition(frozenset())
_BEFORE_ALL_VERSIONS = -1


@dataclass(frozen=True)
class KafkaRange:
    """Records by topic and partition. Both ends name the same partitions.

    Attributes:
        starting: The first offset of each.
        ending: The offset behind the last one.
    """

    starting: Offsets
    ending: Offsets


@dataclass(frozen=True)
class DeltaRange:
    """Versions of a Delta table; none if the first is above the last.

    Attributes:
        table_id: The table's ID.
        first: The first version.
        last: The last version, which is included.
    """

    table_id: str
    first: int
    last: int


@dataclass(frozen=True)
class FilesRange:
    """Files.

    Attributes:
        files: Their names relative to the path that is read, in order.
    """

    files: tuple[str, ...]


Range: TypeAlias = KafkaRange | DeltaRange | FilesRange


def between(start: Cut | None, end: Cut, topics: Collection[str]) -> Range:
    """What is behind a cut, up to another.

    Args:
        start: The first cut; None for the beginning of the stream.
        end: The second cut.
        topics: The topics that are read; for Kafka only.

    Raises:
        TidemarkError: `MARK_POSITION_MISMATCH` for cuts of two kinds; `INVALID_OPTION` if the second
            is before the first; `CUT_EXPIRED` if marks in between were purged; `CUT_NOT_READABLE`, also
            if marks that were purged before the first cut have come back.
    """
    if start is not None:
        # Two kinds of position have nothing between them.
        end.is_read(start.position)
    first, last = None if start is None else start.position, end.position
    if isinstance(last, KafkaPosition):
        before = _of_topics(first if isinstance(first, KafkaPosition) else _NO_KAFKA, topics)
        return _kafka(before, _of_topics(last, topics))
    if isinstance(last, DeltaPosition):
        version = first.version if isinstance(first, DeltaPosition) else _BEFORE_ALL_VERSIONS
        if last.version < version:
            raise _goes_back("the version", version, last.version)
        return DeltaRange(last.table_id, version + 1, last.version)
    if isinstance(last, FilesPosition):
        _require_no_gap(start, end)
        read = first.files if isinstance(first, FilesPosition) else frozenset()
        return FilesRange(tuple(sorted(last.files - read)))
    raise _no_reader(last)


def between_times(
    histories: Mapping[str, History],
    ends: Mapping[str, int],
    cut: Cut,
    start_micros: int | None,
    topics: Collection[str],
) -> tuple[Range, list[str]]:
    """A range with every row that is later than a time and before a cut.

    A row of a writer is not later than `max_time` of any mark behind it. So the range leaves out
    what is before the last mark of each writer with such a time below the start. Rows of several
    writers lie side by side in a partition or table. There the earliest such place counts, of those
    writers that have rows between that place and the cut.

    Args:
        histories: The writers and their marks.
        ends: The place of the mark of each writer that the cut has.
        cut: Where the range ends.
        start_micros: The time, in µs since the epoch; None for all rows before the cut.
        topics: The topics that are read; for Kafka only.

    Returns:
        The range, and the writers without such a time, because of which it begins
        at the beginning of the stream.

    Raises:
        TidemarkError: `CUT_EXPIRED` if marks that are needed were purged; `CUT_NOT_READABLE`.
    """
    known = {writer: _last_below(history, start_micros) for writer, history in histories.items()}
    reaches = [
        (history.position(known[writer]), history.position(ends[writer]))
        for writer, history in histories.items()
    ]
    found: Range
    last = cut.position
    if isinstance(last, KafkaPosition):
        last = _of_topics(last, topics)
        found = _kafka(_start_of_kafka(reaches, last), last)
    elif isinstance(last, DeltaPosition):
        found = DeltaRange(last.table_id, _start_of_delta(reaches, last.version) + 1, last.version)
    elif isinstance(last, FilesPosition):
        _require_beginnings(histories, known, ends)
        files: set[str] = set()
        for before, end in reaches:
            files |= _names(end) - _names(before)
        found = FilesRange(tuple(sorted(files)))
    else:
        raise _no_reader(last)
    unknown = [
        writer
        for writer, (_, noted) in zip(histories, reaches, strict=True)
        if known[writer] < 0 and noted is not None
    ]
    return found, unknown


def expired(reason: str) -> TidemarkError:
    """The error for a range that can no longer be read as a whole."""
    return TidemarkError(
        "CUT_EXPIRED",
        f"Some rows of the range no longer exist: {reason}",
        "reading from a later start, and by keeping rows and marks for longer than readers need them",
        reason=reason,
    )


def not_readable(reason: str, fix: str) -> TidemarkError:
    """The error for a cut that a batch query cannot read up to."""
    return TidemarkError(
        "CUT_NOT_READABLE", f"The range cannot be read: {reason}", fix, reason=reason
    )


def _of_topics(position: KafkaPosition, topics: Collection[str]) -> KafkaPosition:
    return KafkaPosition({t: parts for t, parts in position.offsets.items() if t in topics})


def _kafka(start: KafkaPosition, end: KafkaPosition) -> KafkaRange:
    for topic, offsets in start.offsets.items():
        for partition, offset in offsets.items():
            last = end.offsets.get(topic, {}).get(partition, 0)
            if last < offset:
                raise _goes_back(f"{topic}-{partition}", offset, last)
    starting = {
        topic: {partition: start.offsets.get(topic, {}).get(partition, 0) for partition in offsets}
        for topic, offsets in end.offsets.items()
    }
    return KafkaRange(starting, end.offsets)


def _last_below(history: History, start_micros: int | None) -> int:
    """The last mark before which no row is later than a time; -1 if none is known."""
    found = -1
    if start_micros is None:
        return found
    for at in range(history.usable):
        largest = history.marks[at].max_time_millis
        if largest is None or history.marks[at].position_text is None:
            continue
        # Times of rows have microseconds, and a writer may have left them out.
        if largest * 1000 + 999 > start_micros:
            break
        found = at
    return found


def _start_of_kafka(
    reaches: list[tuple[Position | None, Position | None]], end: KafkaPosition
) -> KafkaPosition:
    def start(topic: str, partition: int, last: int) -> int:
        places = [last]
        for before, noted in reaches:
            offset = _offset(noted, topic, partition)
            if offset is not None:
                place = _offset(before, topic, partition) or 0
                # Otherwise, none of the writer's rows before the cut are later than the start.
                if place < offset:
                    places.append(place)
        return min(places)

    return KafkaPosition(
        {
            topic: {partition: start(topic, partition, last) for partition, last in offsets.items()}
            for topic, offsets in end.offsets.items()
        }
    )


def _start_of_delta(reaches: list[tuple[Position | None, Position | None]], last: int) -> int:
    places = [last]
    for before, noted in reaches:
        if isinstance(noted, DeltaPosition):
            version = before.version if isinstance(before, DeltaPosition) else _BEFORE_ALL_VERSIONS
            if version < noted.version:
                places.append(version)
    return min(places)


def _offset(position: Position | None, topic: str, partition: int) -> int | None:
    known = position if isinstance(position, KafkaPosition) else _NO_KAFKA
    return known.offsets.get(topic, {}).get(partition)


def _names(position: Position | None) -> frozenset[str]:
    return position.files if isinstance(position, FilesPosition) else frozenset()


def _require_beginnings(
    histories: Mapping[str, History], known: Mapping[str, int], ends: Mapping[str, int]
) -> None:
    for writer, history in histories.items():
        if known[writer] < 0 <= ends[writer] and history.after[1] >= 0:
            raise expired(
                f"the first marks of writer '{writer}' were purged, and with them the names of its "
                "files; no later mark of it has a max_time below the start"
            )


def _require_no_gap(start: Cut | None, end: Cut) -> None:
    """Refuses cuts of files between which marks are missing: their files would be left out."""
    for cut in (start, end):
        if cut is not None and _names(cut.position) and not cut.chains:
            raise not_readable(
                "a cut of files does not say which marks it has, so files between the cuts may be missing",
                "taking both cuts from Marks.cut_at",
            )
    before = {} if start is None else start.chains
    for writer, chain in before.items():
        if writer not in end.chains:
            raise expired(f"all marks of writer '{writer}' were purged")
        if end.chains[writer].last < chain.last:
            raise _goes_back(
                f"the last mark of writer '{writer}'", chain.last, end.chains[writer].last
            )
        if end.chains[writer].after < chain.after:
            # The end lists files that the start had, and did not list.
            raise not_readable(
                f"marks of writer '{writer}' that were purged before the start have come back",
                "taking a new start from Marks.cut_at, behind these marks",
            )
    for writer, chain in end.chains.items():
        is_whole = (
            chain.after[1] < 0 if writer not in before else chain.after <= before[writer].last
        )
        if not is_whole:
            raise expired(
                f"marks of writer '{writer}' between the cuts were purged, and with them the names "
                "of its files"
            )


def _goes_back(what: str, start: object, end: object) -> TidemarkError:
    return invalid_option(
        "end",
        end,
        f"{start} or later for {what}, where the range starts",
        "giving an end that is nowhere before the start",
    )


def _no_reader(position: Position) -> TidemarkError:
    kind = kind_of(position)
    return not_readable(
        f"no batch reader takes a position of kind {kind}",
        "having the writers note Kafka offsets, versions of a Delta table, or files",
    )
