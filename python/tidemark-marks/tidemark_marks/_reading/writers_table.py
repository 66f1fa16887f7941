"""What a notebook shows of a mark log: its writers, and what they have noted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tidemark_marks._protocol.times import shown
from tidemark_marks._reading.awaited import AwaitedWriter
from tidemark_marks._reading.html import table, time_or_none
from tidemark_marks._reading.rules import History


def writers_table(
    location: str,
    histories: Mapping[str, History],
    left_out: Collection[str],
    waiting: Sequence[AwaitedWriter],
    complete_millis: int | None,
) -> str:
    """The writers of a log, those furthest behind first, below the sentence that says what is complete.

    Args:
        location: Where the log is.
        histories: The writers and their marks.
        left_out: Writers that are not waited for.
        waiting: The writers that hold the watermark.
        complete_millis: The watermark, in ms since the epoch; None before there is one.
    """
    holding = {writer.writer for writer in waiting}
    unseen = [
        name for name in sorted(holding, key=str) if name is not None and name not in histories
    ]
    rows: list[tuple[object, ...]] = [
        (name, None, "expected, and has no mark yet", None) for name in unseen
    ]
    by_time = sorted(histories.items(), key=lambda item: (item[1].noted_millis or 0, item[0]))
    for name, history in by_time:
        if history.is_done:
            state = "ended" if history.marks[-1].kind == "end" else "idle"
        elif name in left_out:
            state = "stalled, and left out"
        else:
            state = "holds the watermark" if name in holding else "active"
        newest = history.marks[-1].written_millis if history.marks else None
        rows.append((name, time_or_none(history.noted_millis), state, time_or_none(newest)))
    if complete_millis is not None:
        sentence = f"Every row up to {shown(complete_millis)} has been written, by the marks of {location}."
    elif waiting:
        sentence = f"No time is complete by the marks of {location}: it waits for {waiting[0]}."
    else:
        sentence = f"No time is complete by the marks of {location}."
    return table(("writer", "noted up to", "state", "newest mark written"), rows, caption=sentence)
