"""`correct` and `forget`: a person changes what a stopped query remembers of its clocks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tidemark import _bridge
from tidemark._errors import invalid_option
from tidemark._queries.log import checkpoint_path
from tidemark._queries.offsets import event_time
from tidemark._session.active import session_with_extension

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHOWN = "as tidemark.watermark_log shows it"


@dataclass(frozen=True)
class Correction:
    """What `correct` or `forget` has done.

    Attributes:
        batch: The batch whose entry has been changed: the last one that is committed.
        key: The key of the watermark.
        before: The watermark of the input before, as text in the session's time zone. None if it
            had none.
        watermark: The watermark of the input now, in the same form.
        kept: The file with the entry that counted before. None if nothing has been changed.
        follows: What follows from the change, in words.
    """

    batch: int
    key: str
    before: str | None
    watermark: str | None
    kept: str | None
    follows: str


def correct(
    checkpoint: str | os.PathLike[str],
    key: str,
    split: str | None = None,
    to: datetime | str | None = None,
    *,
    spark: SparkSession | None = None,
) -> Correction:
    """Takes the clocks and the watermark of an input back to a time, on a stopped query.

    One row dated 2100 moves a watermark there, and a watermark never goes back by itself. Stop the
    query, call this, and start the query with `max_ahead`, so that the next such row moves nothing.
    In SQL: `SELECT * FROM tidemark_correct('checkpoint', 'orders', NULL, TIMESTAMP '2026-11-23
    12:00')`. Works on classic and Spark Connect alike.

    What follows:

    - Windows between the new watermark and the old one that were emitted come again, with the rows
      that are read from now on. State that was evicted and rows that were late are not restored.
      `offsets_at(checkpoint, time, edge="before")` names where to count them again, where `time` is
      the watermark before the row: `watermark_log` has it.
    - Operators that advanced with this input, such as a union, go back with it. An entry does not say
      which input they follow. So all of them go back that are between both times.
    - A mark that the query has noted for other queries stays in its mark log.
    - Stock Spark has the corrected watermark from the second batch on.

    The correction is a new file, `<batch>.corrected-1` (`-2` for a second one), beside the file `kept`,
    which stays as it is. To take the correction back before the query is started, delete the new file.
    `watermark_log` has `corrected` for it.

    Args:
        checkpoint: The `checkpointLocation` of a query that is stopped, in this and in every other
            application. A query of another application that waits for rows is not noticed. It stops
            with `ENTRY_CHANGED` at its next batch.
        key: The key of the watermark, as `watermark_log` shows it.
        split: The name of one split, as `watermark_log` shows it, whose clock alone goes back. The watermark
            then goes back as far as the clocks of all splits allow. By default all of them go back.
        to: The latest time for the clocks: a clock is an event time less the delay. A text, or a
            `datetime` without a time zone, is in the session's or in Python's time zone. By default
            the wall clock less the delay. Clocks that are earlier stay.
        spark: The session to work with. By default it is the active one.

    Returns:
        What has been done, and what follows.

    Raises:
        TidemarkError: `NO_LOG` if `checkpoint` is not a location, or if the extension is not active
            in the session, as for `with_watermark`.
        IllegalArgumentException: From Spark, with a code in it (`error_code` reads it):
            `QUERY_IS_RUNNING`; `BATCH_NOT_COMMITTED` if a batch was begun, which has to run again as
            it was decided; `UNKNOWN_KEY` and `UNKNOWN_SPLIT`, with those that exist; `NO_LOG` if
            there is no log, or if the last batch ran without Tidemark; `WRONG_ARGUMENTS` if `to` is
            not a time. Nothing is changed then.

    Example:
        >>> done = tidemark.correct("/checkpoints/job", key="orders")  # doctest: +SKIP
        >>> print(done.before, "->", done.watermark)  # doctest: +SKIP
        2099-12-31 23:50:00 -> 2026-11-23 11:50:00
    """
    return _change(
        "tidemark_correct", checkpoint, key, [split, None if to is None else event_time(to)], spark
    )


def forget(
    checkpoint: str | os.PathLike[str],
    key: str,
    split: str,
    *,
    spark: SparkSession | None = None,
) -> Correction:
    """Retires a split that will never return, on a stopped query.

    The split leaves the entry, the report and the memory, and no longer holds the watermark. In SQL:
    `SELECT * FROM tidemark_forget('checkpoint', 'orders', 'boiler')`. Works on classic and Spark
    Connect alike.

    What follows:

    - The watermark does not go back. If the split has held it, windows are emitted without its rows.
    - If the split returns, it is new, and its rows up to the watermark are late.
      `offsets_at(checkpoint, time)` names where to count them again.
    - A split that is expected, and a partition that Kafka still has, are known again after the next
      batch, and hold the watermark until they have rows or are idle.

    The old entry is kept as by `correct`.

    Args:
        checkpoint: As for `correct`.
        key: The key of the watermark, as `watermark_log` shows it.
        split: The name of the split, as `watermark_log` shows it.
        spark: The session to work with. By default it is the active one.

    Returns:
        What has been done, and what follows.

    Raises:
        TidemarkError: As for `correct`.
        IllegalArgumentException: As for `correct`, and `SPLIT_IS_WRITER` if the clocks of the input
            are noted by writers: note the writer's end in its mark log.

    Example:
        >>> tidemark.forget("/checkpoints/job", "orders", "boiler").watermark  # doctest: +SKIP
        '2026-11-23 11:50:00'
    """
    if not isinstance(split, str):
        raise invalid_option("split", split, f"the name of a split, {_SHOWN}", "giving it as text")
    return _change("tidemark_forget", checkpoint, key, [split], spark)


def _change(
    function: str,
    checkpoint: str | os.PathLike[str],
    key: str,
    more: list[str | int | None],
    spark: SparkSession | None,
) -> Correction:
    if not isinstance(key, str):
        raise invalid_option("key", key, f"the key of a watermark, {_SHOWN}", "giving it as text")
    session = session_with_extension(spark)
    row = _bridge.corrected(session, function, checkpoint_path(checkpoint), key, more)
    return Correction(
        batch=row["batch"],
        key=row["key"],
        before=row["before"],
        watermark=row["watermark"],
        kept=row["kept"],
        follows=row["follows"],
    )
