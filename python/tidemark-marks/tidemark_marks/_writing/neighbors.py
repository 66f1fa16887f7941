"""What the other writers of a log note: one stray writer would stop all readers of the log."""

from __future__ import annotations

from collections.abc import Iterable

from tidemark_marks._protocol.position import MismatchError, Position, joined
from tidemark_marks.errors import TidemarkError


def require_same_kind(
    writer: str, location: str, position: Position, others: Iterable[tuple[str, Position]]
) -> None:
    """Refuses a writer's first position if it is of another kind than those of all others.

    Args:
        writer: The writer's name.
        location: The log's location.
        position: The position.
        others: Other writers, each with a position. No more of them are asked for than it takes.

    Raises:
        TidemarkError: `MARK_POSITION_MISMATCH`.
    """
    refused: TidemarkError | None = None
    for name, other in others:
        try:
            joined(other, position)
        except MismatchError as problem:
            refused = refused or _refused(writer, location, name, problem)
        else:
            # Any other writer with another kind is the stray one.
            return
    if refused is not None:
        raise refused


def _refused(writer: str, location: str, name: str, problem: MismatchError) -> TidemarkError:
    noted, given = problem.args
    return TidemarkError(
        "MARK_POSITION_MISMATCH",
        f"Writer '{writer}' would note a position of kind {given}, but writer '{name}' of the mark log "
        f"{location} has noted {noted}",
        "giving a position of the stream that the mark log is about, or, if the other writer does not "
        "belong there, by removing its files or leaving it out with only_expected",
        writer=writer,
        position=given,
        other=noted,
    )
