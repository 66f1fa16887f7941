"""A folder of JSON files as a streaming source: each added file is new input."""

from __future__ import annotations

import json
import os
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

DAY = "2024-01-01"


def clock(text: str) -> datetime:
    """`"10:05"` or `"10:05:30"` on the day that all tests use."""
    return datetime.fromisoformat(f"{DAY}T{text}")


def millis(text: str) -> int:
    """The same time of day in milliseconds since the epoch; `"09:37:59.999"` is possible too."""
    return round((clock(text) - datetime(1970, 1, 1)).total_seconds() * 1000)


class Feed:
    """An input whose rows arrive when the test adds them."""

    def __init__(self, spark: SparkSession, folder: Path, schema: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._spark = spark
        self._folder = folder
        self._schema = schema

    def stream(self, **options: object) -> DataFrame:
        """The folder as a streaming DataFrame."""
        reader = self._spark.readStream.schema(self._schema)
        for key, value in options.items():
            reader = reader.option(key, str(value))
        return reader.json(str(self._folder))

    def table(self) -> DataFrame:
        """All rows so far as a batch DataFrame."""
        return self._spark.read.schema(self._schema).json(str(self._folder))

    def add(self, *rows: dict[str, Any]) -> None:
        """Adds rows as one file. Times are written `"10:05"` or in full."""
        written = [{name: _in_full(value) for name, value in row.items()} for row in rows]
        before = sorted(self._folder.glob("*.json"))
        number = len(before)
        draft = self._folder / f".{number:05}.draft"
        draft.write_text("".join(json.dumps(row) + "\n" for row in written))
        # Spark reads files in the order of their modification times, and the file system's clock is
        # too coarse to tell them apart.
        written_at = before[-1].stat().st_mtime + 1 if before else time.time() - 3600
        os.utime(draft, (written_at, written_at))
        # Spark can list the folder at any time: a file must be there completely, or not at all.
        draft.rename(self._folder / f"{number:05}.json")


def _in_full(value: Any) -> Any:
    is_clock = isinstance(value, str) and value[2:3] == ":" and value[:2].isdigit()
    # Spark's reader requires the seconds too.
    return f"{clock(value).isoformat()}Z" if is_clock else value
