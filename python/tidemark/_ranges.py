"""Reading a range of a stream with Spark's own batch readers: Kafka, Delta's change feed, files.

What a reader would leave out in silence is refused here, or is made an error by an option.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._marks.ranges import (
    DeltaRange,
    FilesRange,
    KafkaRange,
    Offsets,
    Range,
    expired,
    not_readable,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

_log = logging.getLogger("tidemark")

_KAFKA = frozenset(
    ["assign", "subscribepattern"]
    + [f"{end}{what}" for end in ("starting", "ending") for what in ("offsets", "timestamp")]
    + [f"{end}offsetsbytimestamp" for end in ("starting", "ending")]
)
_DELTA = frozenset(
    ["path", "readchangefeed", "readchangedata", "versionasof", "timestampasof"]
    + [f"{end}{what}" for end in ("starting", "ending") for what in ("version", "timestamp")]
)
_FILES = frozenset(["path", "paths", "basepath"])

# These make Spark's readers leave rows out in silence, and `failOnDataLoss` does where it is false.
_IGNORE = ("ignoreMissingFiles", "ignoreCorruptFiles")

# Parts of the errors of Spark's Kafka reader for an offset, a partition or a topic that is not there.
_NOT_IN_KAFKA = (
    "Some data may have been lost",
    "don't match what are assigned",
    "specify all TopicPartitions",
)
_OFFSETS = re.compile(r"in offset \[(\d+), \d+\)\s+for\s+topic\s+partition\s+(\S+)")

# Parts of Delta's errors for a version that is not there, or has no change data.
_NOT_IN_DELTA = re.compile(
    r"DELTA_(VERSION_NOT_FOUND|VERSIONS_NOT_CONTIGUOUS|MISSING_CHANGE_DATA|LOG_FILE_NOT_FOUND"
    r"|TRUNCATED_TRANSACTION_LOG|NO_RECREATABLE_HISTORY_FOUND"
    r"|UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION)"
)

# What Spark takes for a pattern in a path.
_PATTERN = re.compile(r"([{}\[\]*?\\])")


def subscribed(options: Mapping[str, object]) -> tuple[str, ...]:
    """The topics of the option `subscribe`.

    Raises:
        TidemarkError: `INVALID_OPTION` if there are none: the mark log must not choose them.
    """
    given = str(_lower(options).get("subscribe") or "")
    topics = tuple(topic.strip() for topic in given.split(",") if topic.strip())
    if not topics:
        raise _refused("subscribe", given, "the topics to read, such as 'orders'")
    return topics


@dataclass(frozen=True)
class SourceReader:
    """Reads ranges of one source.

    Attributes:
        spark: The session.
        format: The source's format.
        path: The folder of files, or of a Delta table.
        options: The reader's options.
        schema: The schema of files.
    """

    spark: SparkSession
    format: str
    path: str | os.PathLike[str] | None
    options: Mapping[str, str | bool | int | float]
    schema: StructType | str | None

    def read(self, rows: Range) -> DataFrame:
        """The rows of a range.

        Raises:
            TidemarkError: `MARK_POSITION_MISMATCH`, `CUT_EXPIRED`, `CUT_NOT_READABLE`,
                `INVALID_OPTION`.
        """
        kind = self.format.lower()
        if isinstance(rows, KafkaRange) and kind == "kafka":
            return self._kafka(rows)
        if isinstance(rows, DeltaRange) and kind == "delta":
            return self._delta(rows)
        if isinstance(rows, FilesRange) and kind not in ("kafka", "delta"):
            return self._files(rows)
        position = {KafkaRange: "kafka", DeltaRange: "delta", FilesRange: "files"}[type(rows)]
        raise TidemarkError(
            "MARK_POSITION_MISMATCH",
            f"The cut is of kind {position}, which format {self.format!r} does not have",
            "reading the stream that the mark log is about",
            position=position,
            other=self.format,
        )

    def _reader(self, reserved: frozenset[str]) -> DataFrameReader:
        """A reader with the user's options, of which those that decide what is read are refused."""
        for name, value in self.options.items():
            if name.lower() in reserved:
                raise _refused(
                    name, value, "left out: read_between sets it, or the argument path does"
                )
        for name in ("failOnDataLoss", *_IGNORE):
            safe = "true" if name == "failOnDataLoss" else "false"
            given = _lower(self.options).get(name.lower())
            if given is not None and str(given).lower() != safe:
                raise _refused(
                    name, given, f"{safe}, or left out, so that no row is missing in silence"
                )
        reader = self.spark.read.format(self.format)
        return reader.options(**self.options)

    def _folder(self) -> str:
        if self.path is None or not os.fspath(self.path):
            raise _refused("path", self.path, "the folder of the files, or of the Delta table")
        return os.fspath(self.path)

    def _kafka(self, rows: KafkaRange) -> DataFrame:
        self._reader(_KAFKA)
        topics = subscribed(self.options)
        if not rows.ending:
            raise not_readable(
                f"the cut has no offset of topic {', '.join(map(repr, topics))}",
                "subscribing to a topic that the mark log is about",
            )
        missing = [topic for topic in topics if topic not in rows.ending]
        if missing:
            # No writer has rows of it before the cut, unless its name is misspelled.
            _log.warning("The cut has no offset of topic %s", ", ".join(map(repr, missing)))
        full = _without_empty(rows)
        if full.ending:
            self._require_in_kafka(full)
            return self._kafka_between(full.starting, full.ending)
        # Spark wants a partition, also to read nothing.
        topic, ends = next(iter(rows.ending.items()))
        nothing = {topic: dict([next(iter(ends.items()), (0, 0))])}
        return self._kafka_between(nothing, nothing)

    def _kafka_between(self, starting: Offsets, ending: Offsets) -> DataFrame:
        options = {name: v for name, v in self.options.items() if name.lower() != "subscribe"}
        reader = self.spark.read.format("kafka").options(**options)
        # Partitions that the cuts do not name have no rows of the range, so they are not assigned.
        assigned = {topic: sorted(offsets) for topic, offsets in ending.items()}
        return (
            reader.option("assign", json.dumps(assigned))
            .option("startingOffsets", _text(starting))
            .option("endingOffsets", _text(ending))
            .option("failOnDataLoss", "true")
            .load()
        )

    def _require_in_kafka(self, rows: KafkaRange) -> None:
        """Reads the first and the last record of each partition, so that a loss has a name now.

        With `failOnDataLoss`, the reader itself fails wherever an offset is out of Kafka's range.
        So the DataFrame is safe as well, if records are deleted before it is read.
        """
        after_first = {t: {p: n + 1 for p, n in one.items()} for t, one in rows.starting.items()}
        before_last = {t: {p: n - 1 for p, n in one.items()} for t, one in rows.ending.items()}
        first = self._kafka_between(rows.starting, after_first)
        last = self._kafka_between(before_last, rows.ending)
        try:
            first.select("offset").unionAll(last.select("offset")).collect()
        except Exception as problem:
            text = str(problem)
            if not any(part in text for part in _NOT_IN_KAFKA):
                raise
            found = _OFFSETS.search(text)
            where = (
                f" at offset {found[1]} of {found[2]}" if found else " of a partition of the cut"
            )
            raise expired(f"Kafka has no record{where}") from problem

    def _delta(self, rows: DeltaRange) -> DataFrame:
        from pyspark.sql import functions as F

        folder, reader = self._folder(), self._reader(_DELTA)
        for name in _IGNORE:
            if str(self.spark.conf.get(f"spark.sql.files.{name}")).lower() == "true":
                raise _refused(
                    f"spark.sql.files.{name}", "true", "false, so that no row is missing"
                )
        table_id, properties = _bridge.delta_detail(self.spark, folder)
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
        latest = _bridge.delta_version(self.spark, folder)
        if latest < rows.last:
            # The reader would end at the latest version and say nothing.
            raise expired(f"version {rows.last} is not there: the latest is {latest}")
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

    def _files(self, rows: FilesRange) -> DataFrame:
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as F

        folder, reader = self._folder(), self._reader(_FILES)
        if self.schema is not None:
            reader = reader.schema(self.schema)
        paths = [_path(folder, name) for name in rows.files]
        if not paths:
            return reader.load(_escaped(folder)).where(F.lit(False))
        for name in _IGNORE:
            reader = reader.option(name, "false")
        try:
            found = reader.option("basePath", folder).load(paths)
            # On Connect, nothing is looked at before this.
            _ = found.schema
        except PySparkException as problem:
            if problem.getCondition() != "PATH_NOT_FOUND":
                raise
            gone = (problem.getMessageParameters() or {}).get("path", folder)
            raise expired(f"there is no file {gone}") from problem
        return found


_CHANGE_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")


def _without_empty(rows: KafkaRange) -> KafkaRange:
    starting: dict[str, dict[int, int]] = {}
    ending: dict[str, dict[int, int]] = {}
    for topic, offsets in rows.ending.items():
        for partition, last in offsets.items():
            first = rows.starting[topic][partition]
            if first < last:
                starting.setdefault(topic, {})[partition] = first
                ending.setdefault(topic, {})[partition] = last
    return KafkaRange(starting, ending)


def _text(offsets: Offsets) -> str:
    return json.dumps({t: {str(p): n for p, n in one.items()} for t, one in offsets.items()})


def _path(folder: str, name: str) -> str:
    """The path of a file that a mark names, which must be one that Spark's file source would read.

    Whoever may write to the log chooses the names, so none may lead out of the folder. And Spark
    leaves out hidden files in silence, also those that are given by their paths.
    """
    for part in name.split("/"):
        is_hidden = part.startswith(".") or (part.startswith("_") and "=" not in part)
        if not part or is_hidden or part.endswith("._COPYING_") or "\0" in part:
            raise not_readable(
                f"the mark log names the file {name!r}, which Spark's file source would not read in {folder}",
                "having the writer note names relative to the path that is read, without '..' and hidden names",
            )
    return f"{_escaped(folder).rstrip('/')}/{_escaped(name)}"


def _escaped(path: str) -> str:
    return _PATTERN.sub(r"\\\1", path)


def _lower(options: Mapping[str, object]) -> dict[str, object]:
    return {name.lower(): value for name, value in options.items()}


def _refused(option: str, value: object, allowed: str) -> TidemarkError:
    return TidemarkError(
        "INVALID_OPTION",
        f"{option} is {value!r}, but it must be {allowed}",
        f"giving {option} as described",
        option=option,
        value=repr(value),
        allowed=allowed,
    )
