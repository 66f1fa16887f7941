"""Rows of the files that a mark log names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidemark._mark_logs.source import IGNORE, Source
from tidemark_marks.shared import FilesRange, expired, is_hidden, not_readable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FILES = frozenset(["path", "paths", "basepath"])

# What Spark takes for a pattern in a path.
_PATTERN = re.compile(r"([{}\[\]*?\\])")


def read(source: Source, rows: FilesRange) -> DataFrame:
    """The rows of the files of a range."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    folder, reader = source.folder(), source.reader(_FILES)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    paths = [path_of(folder, name) for name in rows.files]
    if not paths:
        return reader.load(_escaped(folder)).where(F.lit(False))
    for name in IGNORE:
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


def path_of(folder: str, name: str) -> str:
    """The path of a file that a mark names, which must be one that Spark's file source would read.

    Any user who may write to the log chooses the names, so none may lead out of the folder. And Spark
    silently leaves out hidden files, also those that are given by their paths.
    """
    for part in name.split("/"):
        if not part or is_hidden(part) or "\0" in part:
            raise not_readable(
                f"the mark log names the file {name!r}, which Spark's file source would not read in {folder}",
                "having the writer note names relative to the path that is read, without '..' and hidden names",
            )
    return f"{_escaped(folder).rstrip('/')}/{_escaped(name)}"


def _escaped(path: str) -> str:
    return _PATTERN.sub(r"\\\1", path)
