"""`marks`: a mark log as a table, as a program without Spark has written it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.marks import log_at
from support.streams import refusal

import tidemark
from tidemark.marks import FilesPosition, KafkaPosition, Mark

COLUMNS = [
    "writer", "epoch", "number", "kind", "time", "time_millis", "written", "position_kind",
    "position", "max_time", "skipped",
]  # fmt: skip


def test_the_table_has_the_marks_that_a_program_without_spark_reads(
    tmp_path: Path, spark: SparkSession
) -> None:
    log = log_at(tmp_path / "it's a log", now=1_704_110_400_000)
    for name in ("eu", "ü/1"):
        for life in range(2):
            writer = log.writer(name)
            for step in range(1, 300):
                time = 1_704_103_200_000 + 300 * life + step
                writer.note_time(time, KafkaPosition({"orders": {0: step + 300 * life, 1: 7}}))
            writer.alive()
    # A stray, which would be told so if it wrote into this log itself.
    log_at(tmp_path / "stray").writer("files").note_time(
        "2024-01-01T10:00:00Z", files=["b/ü.json", "a"]
    )
    for file in (tmp_path / "stray").iterdir():
        file.rename(tmp_path / "it's a log" / file.name)

    rows = tidemark.mark_table(tmp_path / "it's a log", spark=spark)
    assert rows.columns == COLUMNS
    written = log.read()
    assert written.skipped == ()
    found = rows.selectExpr(
        "writer", "epoch", "number", "kind", "time_millis", "unix_millis(written)", "position"
    ).collect()
    assert sorted(tuple(row) for row in found) == sorted(map(row_of, written.marks))
    (row,) = rows.where("writer = 'files' AND kind = 'note'").collect()
    assert (row.time, row.position_kind) == (datetime(2024, 1, 1, 10), "files")
    assert row.position == '{"files":["a","b/ü.json"]}'


def row_of(mark: Mark) -> tuple[Any, ...]:
    return (
        mark.writer,
        mark.epoch,
        mark.number,
        mark.kind,
        mark.time_millis,
        mark.written_millis,
        mark.position_text,
    )


def test_a_line_that_cannot_be_used_has_a_row_that_says_why(
    tmp_path: Path, spark: SparkSession
) -> None:
    log_at(tmp_path).writer("eu").note_time(7, FilesPosition(frozenset()))
    for file in tmp_path.glob("*.marks"):
        file.write_bytes(file.read_bytes() + b"damaged\nand torn")
    rows = tidemark.mark_table(tmp_path, spark=spark).where("kind = 'skipped'").collect()
    reasons = {f"{line.file}: {line.reason}" for line in log_at(tmp_path).read().skipped}
    assert {f"{row.skipped.split(' of ')[1]}" for row in rows} == reasons
    assert len(rows) == 4


@pytest.mark.parametrize(
    "place",
    ["", " ", "/nowhere/at/all", "no:such:place", "kafka:marks/orders", "kafka:no topic", None, 7],
)
def test_a_location_without_a_folder_is_refused(spark: SparkSession, place: Any) -> None:
    code, text = refusal(lambda: tidemark.mark_table(place, spark=spark))
    assert code == "NO_MARK_LOG", text
    assert text.startswith("[TIDEMARK.NO_MARK_LOG] ")
