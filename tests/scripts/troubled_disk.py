"""A query whose checkpoint is on a disk that becomes full, or in a folder that it may not write.

The arguments are a folder, the checkpoint, and what is wrong: `full`, then how many bytes are left, each time. Or it
is the folder in the checkpoint that may not be written, or `whole` for all of them. `BALLAST` is the disk to fill, if
it is not the checkpoint's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.processes import result

import tidemark
from common.session import file_manager

SCHEMA = "device STRING, time TIMESTAMP"
STEPS = [
    [("a", "10:00"), ("b", "10:00")],
    [("a", "10:20"), ("b", "10:15"), ("a", "09:00")],
    [("a", "10:40"), ("b", "09:30")],
    [("a", "10:41"), ("b", "10:25")],
    [("a", "12:00"), ("b", "12:00")],
    [("a", "12:30"), ("b", "12:30")],
]
# The step whose batch fails.
TROUBLE = 3

folder, checkpoint, wrong = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
builder = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.local.dir", str(folder / "local"))
    .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.streaming.checkpointFileManagerClass", file_manager())
)
spark = tidemark.configure(builder).getOrCreate()
spark.sparkContext.setLogLevel("OFF")


def windows(feed: Feed) -> DataFrame:
    marked = tidemark.with_watermark(
        feed.stream(), "time", "0 seconds", key="k", split_by="device", max_ahead="1 day"
    )
    counts = marked.groupBy("device", F.window("time", "10 minutes")).count()
    return counts.select("device", "window.start", "count")


def run(feed: Feed, cp: Path, out: Path) -> tuple[str, int]:
    """How the run has ended, and how many rows were late in it."""
    writer = windows(feed).writeStream.format("parquet").option("checkpointLocation", str(cp))
    try:
        query = writer.trigger(availableNow=True).start(str(out))
        query.awaitTermination()
    except Exception as error:  # noqa: BLE001
        return str(error), 0
    return "", sum(late.rows for late in tidemark.late_rows(query))


def rows_in(out: Path) -> list[str]:
    return sorted(str(list(row)) for row in spark.read.parquet(str(out)).collect())


def entries(cp: Path) -> list[str]:
    columns = ("batch", "key", "split", "clock", "watermark")
    return sorted(map(str, tidemark.watermark_log(str(cp)).select(*columns).collect()))


class Trouble:
    """What is wrong with the disk, for as long as it is."""

    def __init__(self, left_bytes: int) -> None:
        self._disk = Path(os.environ.get("BALLAST", str(checkpoint)))
        self._ballast = self._disk / "ballast"
        self._left = left_bytes

    def __enter__(self) -> None:
        if wrong == "full":
            disk = os.statvfs(self._disk)
            free = disk.f_bavail * disk.f_frsize
            with self._ballast.open("wb") as file:
                file.write(bytes(max(free - self._left, 0)))
        else:
            self._allow(checkpoint if wrong == "whole" else checkpoint / wrong, 0o555)

    def __exit__(self, *error: object) -> None:
        self._ballast.unlink(missing_ok=True)
        if wrong != "full":
            self._allow(checkpoint, 0o755)

    @staticmethod
    def _allow(place: Path, mode: int) -> None:
        for path, _, _ in os.walk(place):
            Path(path).chmod(mode)


def outcome(name: str, cp: Path, left_bytes: int | None) -> dict[str, Any]:
    feed, out = Feed(spark, folder / name / "in", SCHEMA), folder / name / "out"
    error, late = "", 0
    for number, step in enumerate(STEPS):
        feed.add(*({"device": device, "time": at} for device, at in step))
        if number == TROUBLE and left_bytes is not None:
            with Trouble(left_bytes):
                error, count = run(feed, cp, out)
                late += count
        if number != TROUBLE or left_bytes is None or error:
            again, count = run(feed, cp, out)
            late += count
            assert not again, again
    return {"rows": rows_in(out), "entries": entries(cp), "late": late, "error": error}


found = {"straight": outcome("straight", folder / "cp", None)}
for left_bytes in [int(text) for text in sys.argv[4:]] or [0]:
    place = checkpoint / f"of{left_bytes}" if wrong == "full" else checkpoint
    found[str(left_bytes)] = outcome(f"left{left_bytes}", place, left_bytes)
result(uid=os.getuid(), **found)
spark.stop()
