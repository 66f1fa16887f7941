"""Names of files in marks: those that no source of files ever lists would hold readers forever."""

from __future__ import annotations

import os
import re

from tidemark_marks._protocol.position import FilesPosition
from tidemark_marks.errors import TidemarkError

MOST_LOOKED_AT = 100
"""How many names of a mark are looked for on the disk: a network's file system takes its time for each."""

_BESIDE_DATA = "_tidemark"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_NAMES = "names relative to the path that is read, with / between parts"


def is_hidden(part: str) -> bool:
    """Whether Spark's file source passes over files and folders of this name.

    As in `HadoopFSUtils.shouldFilterOutPathName`. Parquet's `_metadata` is listed, and has no rows.
    """
    is_special = part.startswith("_") and "=" not in part
    return is_special or part.startswith(".") or part.endswith("._COPYING_")


def require_listed(position: FilesPosition) -> None:
    """Refuses names that no source of files lists.

    Raises:
        TidemarkError: `INVALID_OPTION`.
    """
    for name in sorted(position.files):
        parts = name.split("/")
        if name.startswith("/") or _SCHEME.match(name):
            raise _not_listed(
                name, "is not relative", "giving its name below the path that is read"
            )
        if name.endswith("/"):
            raise _not_listed(name, "is a folder", "naming the files in it, each by itself")
        if any(part in ("", ".", "..") for part in parts):
            raise _not_listed(name, "has an empty part, . or ..", f"giving {_NAMES}")
        if any(map(is_hidden, parts)):
            raise _not_listed(
                name,
                "is hidden: a part of it begins with _ or ., or ends with ._COPYING_",
                "leaving it out if it has no rows, or by renaming the file before it is noted",
            )
        if "*" in name or "?" in name:
            raise _not_listed(
                name, "is a pattern", "naming the files that it matches, each by itself"
            )


def require_no_folder(position: FilesPosition, log: str) -> None:
    """Refuses the name of a folder, where the log is beside the data on a local file system.

    Args:
        position: The names.
        log: The log's location.

    Raises:
        TidemarkError: `INVALID_OPTION`.
    """
    data, own = os.path.split(os.path.abspath(log))
    if own != _BESIDE_DATA or log.startswith("kafka:") or len(position.files) > MOST_LOOKED_AT:
        return
    for name in sorted(position.files):
        if os.path.isdir(os.path.join(data, name)):
            raise _not_listed(
                name, f"is a folder in {data}", "naming the files in it, each by itself"
            )


def _not_listed(name: str, why: str, fix: str) -> TidemarkError:
    return TidemarkError(
        "INVALID_OPTION",
        f"files has {name!r}, which {why}. No source of files lists such a name, so readers would wait forever",
        fix,
        option="files",
        value=name,
        allowed=_NAMES,
    )
