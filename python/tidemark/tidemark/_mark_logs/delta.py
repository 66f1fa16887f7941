"""Rows of a Delta table between two versions, from its change data feed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidemark import _bridge
from tidemark._errors import TidemarkError, invalid_option
from tidemark._mark_logs.source import IGNORE, Source
from tidemark_marks.shared import DeltaRange, expired, not_readable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DELTA = frozenset(
    ["path", "readchangefeed", "readchangedata", "versionasof", "timestampasof"]
    + [f"{end}{what}" for end in ("starting", "ending") for what in ("version", "timestamp")]
)

# Parts of Delta's errors for a version that does not exist, or has no change data.
_NOT_IN_DELTA = re.compile(
    r"DELTA_(VERSION_NOT_FOUND|VERSIONS_NOT_CONTIGUOUS|MISSING_CHANGE_DATA|LOG_FILE_NOT_FOUND"
    r"|TRUNCATED_TRANSACTION_LOG|NO_RECREATABLE_HISTORY_FOUND"
    r"|UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION)"
)

_CHANGE_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")


def read(source: Source, rows: DeltaRange) -> DataFrame:
    """The rows that the versions of a range have inserted."""
    from pyspark.sql import functions as F

    folder, reader = source.folder(), source.reader(_DELTA)
    for name in IGNORE:
        if str(source.spark.conf.get(f"spark.sql.files.{name}")).lower() == "true":
            raise invalid_option(
                f"spark.sql.files.{name}",
                "true",
                "false, so that no row is missing",
                "setting it to false",
            )
    table_id, properties = _bridge.delta_detail(source.spark, folder)
    if table_id != rows.table_id:
        raise TidemarkError(
            "MARK_POSITION_MISMATCH",
            f"The cut is of the Delta table {rows.table_id}, but {folder} has the ID {table_id}",
            "giving the path of the table that the mark log is about",
            position=rows.table_id,
            other=table_id,
        )
    if properties.get("delta.enableChangeDataFeed", "").lower() != "true":
        raise not_readable(
            f"the Delta table {folder} has no change data feed, and no other public reader of "
            "Delta gives the rows that were added between two versions",
            "setting the table property delta.enableChangeDataFeed to true",
        )
    if rows.first > rows.last:
        return reader.load(folder).where(F.lit(False))
    latest = _bridge.delta_version(source.spark, folder)
    if latest < rows.last:
        # The reader would end at the latest version and say nothing.
        raise expired(f"the table has no version {rows.last}: the latest is {latest}")
    feed = (
        reader.option("readChangeFeed", "true")
        .option("startingVersion", rows.first)
        .option("endingVersion", rows.last)
    )
    try:
        changes = feed.load(folder)
        # On Connect, nothing is looked at before this.
        columns = changes.columns
    except Exception as problem:
        # Not all of Delta's errors are among pyspark's.
        found = _NOT_IN_DELTA.search(str(problem))
        if found is None:
            raise
        raise expired(
            f"Delta reports {found[0]} for versions {rows.first} to {rows.last}"
        ) from problem
    inserted = changes.where(F.col("_change_type") == "insert")
    return inserted.drop(*(name for name in columns if name in _CHANGE_COLUMNS))
