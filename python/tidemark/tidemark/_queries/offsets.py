"""`offsets_at`: how far a query had read its sources at an event time, from its checkpoint."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from tidemark import _bridge
from tidemark._queries.log import checkpoint_path
from tidemark._session.active import session_with_extension
from tidemark_marks.shared import micros_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SourceOffsets:
    """How far a query had read one of its sources at the end of a batch, as a reader takes it.

    Attributes:
        batch: The batch of the query.
        source: The number of the source in the query, from "0" on, or its name.
        kind: What the source is: `"kafka"`, `"delta"`, `"files"` or `"other"`.
        offset: The offset in Spark's own log, as JSON.
        starting: Where a reader begins that reads what came after: for Kafka the option
            `startingOffsets` with all partitions, for Delta the option `startingVersion`. None for
            files and other sources, and while Delta's first snapshot is being read.
        ending: Where a batch reader ends that reads what came before: for Kafka the option
            `endingOffsets`, for Delta the option `endingVersion`.
        files: For files, those that the query had read, as URIs such as `file:///lake/orders/1%202.json`.
            As a path: `urllib.parse.unquote(urllib.parse.urlsplit(uri).path)`.
    """

    batch: int
    source: str
    kind: Literal["kafka", "delta", "files", "other"]
    offset: str
    starting: str | None
    ending: str | None
    files: tuple[str, ...]


def offsets_at(
    checkpoint: str | os.PathLike[str],
    time: datetime | str,
    *,
    edge: Literal["complete", "before"] = "complete",
    key: str | None = None,
    spark: SparkSession | None = None,
) -> list[SourceOffsets]:
    """How far a query had read its sources at an event time: the place to begin a backfill.

    The answer comes from the query's own log, whether the query is running or not. The query is not
    started, and nothing is written. The log has the batches that Spark keeps
    (`spark.sql.streaming.minBatchesToRetain`, 100). In SQL: `SELECT * FROM
    tidemark_offsets('checkpoint', TIMESTAMP '2024-01-01 12:00', 'before')`. Works on classic and
    Spark Connect alike.

    Two edges can be asked for:

    - `"complete"`: the first batch after which the watermark is at `time` or later. This batch and
      those before it have read all rows up to `time`, apart from late ones.
    - `"before"`: the last batch by which no row later than `time` had been read. A reader that
      begins there gets every row after `time`, late ones too, and some earlier rows. Times in the
      log are rounded down to the ms, so a row within the same ms counts as later.

    Only rows that reach the watermark count: not those that a filter below it drops, and not those
    further ahead than `max_ahead`. A batch that ran without Tidemark, or before the watermark had
    its key, may have read any row: `"before"` never answers past one that the log shows. Once the
    entries before it are deleted, the log no longer shows it.

    Args:
        checkpoint: The query's `checkpointLocation`, as Spark (on Connect: the server) finds it.
        time: An event time. A text, or a `datetime` without a time zone, is in the session's or in
            Python's time zone, as elsewhere in PySpark.
        edge: `"complete"` or `"before"`.
        key: The watermark that is asked, by its key. By default all watermarks of the log:
            the earliest for `"complete"`, the latest event time of all for `"before"`.
        spark: The session to read with. By default it is the active one.

    Returns:
        An element for each source that the query had read at that edge, in order.

    Raises:
        TidemarkError: `NO_LOG` if `checkpoint` is not a location, or if the extension is not active
            in the session, as for `with_watermark`.
        IllegalArgumentException: From Spark, with a code in it (`error_code` reads it): `NO_CUT` if
            the log does not cover the time, with what it has; `NO_LOG` if there is no log;
            `WRONG_ARGUMENTS` if `time` is not a time or `edge` is neither of the two.

    Example:
        >>> [orders] = tidemark.offsets_at(  # doctest: +SKIP
        ...     "/checkpoints/orders", "2024-01-01 11:00", edge="before"
        ... )
        >>> reader.option("startingOffsets", orders.starting)  # doctest: +SKIP
    """
    session = session_with_extension(spark)
    table = _bridge.offsets_table(session, checkpoint_path(checkpoint), event_time(time), edge, key)
    return [
        SourceOffsets(
            batch=row["batch"],
            source=row["source"],
            kind=row["kind"],
            offset=row["offset"],
            starting=row["starting"],
            ending=row["ending"],
            files=tuple(row["files"] or ()),
        )
        for row in table.collect()
    ]


def event_time(time: datetime | str) -> int | str:
    """A time for a SQL function: microseconds since the epoch, or a text that Spark reads.

    A `datetime` without a zone is in Python's own.
    """
    return micros_of(time) if isinstance(time, datetime) else str(time)
