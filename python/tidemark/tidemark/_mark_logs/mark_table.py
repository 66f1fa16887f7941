"""`mark_table`: the marks of a mark log as a DataFrame."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._session.active import session_with_extension
from tidemark._watermark.noted import log_options
from tidemark_marks.shared import path_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidemark_marks import Marks


def mark_table(
    location: str | os.PathLike[str] | Marks,
    *,
    options: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
) -> DataFrame:
    """The marks in a mark log as a DataFrame, and the lines of it that cannot be used.

    It shows what each writer has noted, and when. `Marks` reads the same without Spark, from local
    file systems and from Kafka. In SQL: `SELECT * FROM tidemark_marks('location')`, and for Kafka
    `tidemark_marks('kafka:marks/orders', map('kafka.bootstrap.servers', 'broker:9092'))`. Works on
    classic and Spark Connect alike.

    Args:
        location: The folder of the log, as Spark (on Connect: the server) finds it, or
            `kafka:<topic>/<stream>`, or a `tidemark.marks.Marks`.
        options: For a log in Kafka: options of Spark's Kafka source, such as
            `kafka.bootstrap.servers`. Of a `tidemark.marks.Marks`, Spark takes the brokers.
        spark: The session to read with. By default it is the active one.

    Returns:
        A row for each mark, in no promised order, with these columns: `writer`; `epoch` and
        `number` (LONG, the mark's place among those of its writer); `kind` (`note`, `alive`,
        `idle` or `end`); `time` (TIMESTAMP, what is noted; null if the mark notes none, or if it
        is not a time of the years 2 to 9998); `time_millis` (LONG, the same as a number); `written`
        (TIMESTAMP, by the writer's clock); `position_kind` and `position` (its JSON, null if the
        mark has none); and `max_time` (TIMESTAMP, the largest event time before the position).
        Marks that do not count, such as those of a fenced life, have rows too. A line or a record
        that cannot be used has a row of kind `skipped`: its column `skipped` says which one it is,
        and why. A record whose key is of no stream has no writer.

    Raises:
        TidemarkError: `NO_MARK_LOG` if `location` is not a location; `INVALID_OPTION` if `options`
            are not; for a session without the extension as for `with_watermark`.
        IllegalArgumentException: From Spark, with the code `NO_MARK_LOG` in it (`error_code` reads
            it), if there is no such folder or topic; with `NO_KAFKA_CONNECTOR` if Spark cannot read
            Kafka.

    Example:
        >>> rows = tidemark.mark_table("/lake/orders/_tidemark")  # doctest: +SKIP
        >>> rows.where("writer = 'eu'").orderBy("epoch", "number").show()  # doctest: +SKIP
    """
    session = session_with_extension(spark)
    given = log_options(location, options)
    return _bridge.marks_table(session, _location(location), given)


def _location(location: object) -> str:
    from tidemark_marks import Marks

    if isinstance(location, Marks):
        return location.location
    path = path_text(location)
    if path is not None:
        return path
    raise TidemarkError(
        "NO_MARK_LOG",
        f"There is no mark log in {location!r}, which is not a location",
        "passing the folder or the topic that the writers note their times in",
        location=location,
    )
