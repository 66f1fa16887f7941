"""`cut_at`: the first position of each writer at which it had noted a time, joined."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidemark._errors import TidemarkError
from tidemark._marks.cut import Cut
from tidemark._marks.position import MismatchError, Position, joined
from tidemark._marks.rules import History, position_mismatch
from tidemark._marks.times import shown


def cut_at(
    histories: Mapping[str, History],
    expected: Collection[str],
    left_out: Collection[str],
    millis: int,
) -> Cut:
    """A position that has every row up to a time before it.

    Args:
        histories: The writers and their marks.
        expected: Writers that must have come so far.
        left_out: Writers whose last position is taken, though they have not come so far.
        millis: The time, in ms since the epoch.

    Raises:
        TidemarkError: `NO_CUT`, `MARK_POSITION_MISMATCH`.
    """
    for writer in sorted(set(expected) - histories.keys()):
        raise _no_cut(millis, f"writer '{writer}' has noted no time yet", writer)
    cut: Position | None = None
    for writer, history in histories.items():
        position = _position_at(history, millis, writer in left_out)
        try:
            if position is not None:
                cut = position if cut is None else joined(cut, position)
        except MismatchError as problem:
            raise position_mismatch(writer, problem) from problem
    if cut is None:
        raise _no_cut(millis, "no writer has noted a position yet", "")
    return Cut(cut)


def _position_at(history: History, millis: int, is_left_out: bool) -> Position | None:
    """Where a writer was when it had noted a time."""
    marks = history.marks[: history.usable]
    for at in history.notes:
        noted = history.marks[at].time_millis
        if at < len(marks) and noted is not None and noted >= millis:
            return history.position(at)
    if is_left_out or history.is_done:
        return history.position(len(marks) - 1)
    times = [history.marks[at].time_millis for at in history.notes if at < len(marks)]
    last = times[-1] if times else None
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
