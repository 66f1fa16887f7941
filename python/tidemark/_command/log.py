"""`python -m tidemark log`: a query's log without a session, because it is wanted at night."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tidemark import _bridge
from tidemark._queries.report.printing import name_of
from tidemark._queries.report.text import reason
from tidemark._session.jars import jar_path

_MAIN = "org.apache.spark.sql.tidemark.report.PrintLog"
_COLUMNS = ("batch", "time", "key", "split", "clock", "watermark", "idle", "held_by_split")
_NAMES = ("key", "split", "held_by_split")
_OF_TIDEMARK = re.compile(r"\[TIDEMARK\.[A-Z_]+\].*")


class LogError(Exception):
    """What the engine said when it could not read a log."""


def last_batches(checkpoint: str, batches: int) -> list[dict[str, Any]]:
    """The rows of the last batches of a log, as `watermark_log` has them. Times have their offset.

    The engine reads them in a JVM of its own, with the settings for file systems that
    `spark-submit` has (`spark-defaults.conf`).

    Raises:
        LogError: There is no log, or it could not be read.
    """
    script = "spark-submit.cmd" if sys.platform == "win32" else "spark-submit"
    submit = [str(Path(_bridge.spark_home(), "bin", script)), "--master", "local[1]"]
    done = subprocess.run(
        [*submit, "--class", _MAIN, jar_path(), checkpoint, str(batches)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        check=False,
    )
    if done.returncode != 0:
        found = _OF_TIDEMARK.search(done.stderr)
        raise LogError(found.group() if found else done.stderr.strip())
    rows: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted(rows, key=lambda row: (row["batch"], row["key"], row.get("split", "")))


def as_text(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Why nothing came out after the newest batch that says so, and a table of all rows."""
    said = [row for row in rows if "why" in row]
    newest = said[-1]["batch"] if said else -1
    if any(row["corrected"] and row["batch"] > newest for row in rows):
        yield "The last entry was corrected. The query continues from it when it starts."
    elif said:
        yield f"After batch {newest}:"
        yield from reason(said[-1]["why"])
    table = [_COLUMNS, *([_cell(row, column) for column in _COLUMNS] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        yield "  ".join(map(str.ljust, line, widths)).rstrip()


def _cell(row: dict[str, Any], column: str) -> str:
    value = row.get(column)
    if value is None:
        return "-"
    # A name may have characters that a terminal obeys, and a long one would pad the column in each row.
    return name_of(value) if column in _NAMES else str(value)
