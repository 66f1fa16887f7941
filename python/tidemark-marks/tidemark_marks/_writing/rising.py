"""The order of a writer's marks: neither times nor positions go back."""

from __future__ import annotations

from tidemark_marks._protocol.position import (
    DeltaPosition,
    FilesPosition,
    KafkaPosition,
    MismatchError,
    NumberPosition,
    Position,
    SinkBatchPosition,
    joined,
    kind_of,
)
from tidemark_marks._protocol.times import shown
from tidemark_marks._reading.rules import position_mismatch
from tidemark_marks.errors import TidemarkError


def require_time_in_order(writer: str, before: int | None, now: int | None) -> None:
    """Refuses a time before the last one.

    Raises:
        TidemarkError: `MARK_GOES_BACK`.
    """
    if now is not None and before is not None and now < before:
        raise TidemarkError(
            "MARK_GOES_BACK",
            f"Writer '{writer}' would note {shown(now)}, but it has noted {shown(before)} before",
            "noting times in order, and only when no earlier row can follow",
            writer=writer,
            noted=shown(before),
            given=shown(now),
        )


def require_position_in_order(writer: str, before: Position | None, now: Position | None) -> None:
    """Refuses a position before the last one, and one of another kind.

    Raises:
        TidemarkError: `MARK_GOES_BACK`, `MARK_POSITION_MISMATCH`.
    """
    if now is None or before is None:
        return
    try:
        joined(before, now)
    except MismatchError as problem:
        raise position_mismatch(writer, problem) from problem
    behind = _gone_back(before, now)
    if behind is not None:
        where, noted, given = behind
        raise TidemarkError(
            "MARK_GOES_BACK",
            f"Writer '{writer}' would note {where} at {given}, but it has noted {noted} before",
            "giving the position behind all that the writer has written",
            writer=writer,
            noted=noted,
            given=given,
            position=where,
        )


def _gone_back(before: Position, now: Position) -> tuple[str, int, int] | None:
    """The first part of a position that has gone back: its name, and the two numbers."""
    if isinstance(before, KafkaPosition) and isinstance(now, KafkaPosition):
        for topic, offsets in now.offsets.items():
            for partition, offset in offsets.items():
                last = before.offsets.get(topic, {}).get(partition, offset)
                if offset < last:
                    return f"{topic}-{partition}", last, offset
        return None
    if isinstance(before, FilesPosition):
        return None
    last, given = _number(before), _number(now)
    return (kind_of(now), last, given) if given < last else None


def _number(position: Position) -> int:
    if isinstance(position, DeltaPosition):
        return position.version
    if isinstance(position, SinkBatchPosition):
        return position.batch
    return position.number if isinstance(position, NumberPosition) else 0
