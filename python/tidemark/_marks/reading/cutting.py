"""Cuts at a time: the first position of each writer at which it had noted the time, joined."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidemark._errors import TidemarkError
from tidemark._marks.protocol.position import FilesPosition, MismatchError, Position, joined
from tidemark._marks.protocol.times import shown
from tidemark._marks.reading.cut import Chain, Cut
from tidemark._marks.reading.rules import History, position_mismatch


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
    return {writer: _end(one, millis, writer in left_out) for writer, one in histories.items()}


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
        writer: one
        for writer, one in (purged or {}).items()
        # Marks that still exist say more than the note about them.
        if writer not in histories or one.last < histories[writer].marks[0].place
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
