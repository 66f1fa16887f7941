"""`python -m tidemark log`: a query's log without a session, because it is wanted at night."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tidemark import _bridge
from tidemark._session.jars import jar_path
from tidemark._session.settings import SUBMIT_ARGS
from tidemark._shown import name_of, reason

_MAIN = "org.apache.spark.sql.tidemark.report.PrintLog"
_ROW, _FAILURE = "tidemark-row ", "tidemark-error "
_COLUMNS = ("batch", "time", "key", "split", "clock", "watermark", "idle", "held_by_split")
_NAMES = ("key", "split", "held_by_split")
_MOST_ROWS = 1000


class LogError(Exception):
    """What the engine said when it could not read a log."""


def last_batches(checkpoint: str, batches: int) -> list[dict[str, Any]]:
    """The rows of the last batches of a log, as `watermark_log` has them. Times have their offset.

    The engine reads them in a JVM of its own, with the settings for file systems that a session of
    pyspark has: `spark-defaults.conf` and `PYSPARK_SUBMIT_ARGS`.

    Raises:
        LogError: There is no log, or it could not be read.
    """
    done = subprocess.run(
        # Escaped, because not every locale can pass on every letter.
        [*_submit(), "--class", _MAIN, jar_path(), quote(checkpoint, safe="/:"), str(batches)],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        check=False,
    )
    lines = done.stdout.splitlines()
    for line in lines:
        if line.startswith(_FAILURE):
            raise LogError(json.loads(line.removeprefix(_FAILURE))["message"])
    if done.returncode != 0:
        raise LogError(done.stderr.strip())
    rows = [json.loads(line.removeprefix(_ROW)) for line in lines if line.startswith(_ROW)]
    return sorted(rows, key=lambda row: (row["batch"], row["key"], row.get("split", "")))


def _submit() -> list[str]:
    """`spark-submit` with the arguments that pyspark would start its JVM with."""
    script = "spark-submit.cmd" if sys.platform == "win32" else "spark-submit"
    given = shlex.split(os.environ.get(SUBMIT_ARGS, ""))
    given = given[:-1] if given[-1:] == ["pyspark-shell"] else given
    here = ["--master", "local[1]", "--deploy-mode", "client"]
    return [str(Path(_bridge.spark_home(), "bin", script)), *given, *here]


def as_text(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Why nothing came out after the newest batch that says so, and a table of all rows."""
    said = [row for row in rows if "why" in row]
    newest = said[-1]["batch"] if said else -1
    if any(row["corrected"] and row["batch"] > newest for row in rows):
        yield "The last entry was corrected. The query continues from it when it starts."
    elif said:
        yield f"After batch {newest}:"
        yield from reason(said[-1]["why"])
    shown = rows[-_MOST_ROWS:]
    table = [_COLUMNS, *([_cell(row, column) for column in _COLUMNS] for row in shown)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        yield "  ".join(map(str.ljust, line, widths)).rstrip()
    if len(shown) < len(rows):
        yield f"{len(rows) - len(shown)} earlier rows are not shown: --json prints all."


def _cell(row: dict[str, Any], column: str) -> str:
    value = row.get(column)
    if value is None:
        return "-"
    # A name may have characters that a terminal obeys, and a long one would pad the column in each row.
    return name_of(value) if column in _NAMES else str(value)
