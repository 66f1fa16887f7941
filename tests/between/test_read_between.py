"""`read_between` with files: rows in exactly one range, exact times, and nothing missing in silence."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import clock, millis
from support.marks import log_at, no_sync, put

import tidemark
from common.settings import with_settings
from tidemark import TidemarkError
from tidemark.marks import Cut, KafkaPosition, Marks, MarkWriter

SCHEMA = "id STRING, time TIMESTAMP"

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


@dataclass
class Lake:
    """A folder of files whose writers note their times."""

    spark: SparkSession
    folder: Path

    @property
    def marks(self) -> Marks:
        return log_at(self.folder / "_tidemark", max_ahead=None)

    def write(self, name: str, *times: str) -> str:
        """A file with a row for each time."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"id": f"{name} {time}", "time": f"{clock(time).isoformat()}Z"} for time in times]
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return name

    def between(self, start: Any, end: Any, **more: Any) -> DataFrame:
        options = {"format": "json", "path": self.folder, "schema": SCHEMA, **more}
        return tidemark.read_between(self.spark, start, end, **options)

    def times(self, start: str | None, end: str, **more: Any) -> list[str]:
        first = None if start is None else millis(start)
        log = {"by": "event_time", "marks": self.marks, "time": "time"}
        return ids(self.between(first, millis(end), **(log | more)))


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(spark, tmp_path / "lake")


def ids(rows: DataFrame) -> list[str]:
    return sorted(row["id"] for row in rows.select("id").collect())


def refused(ask: Callable[[], object]) -> TidemarkError:
    with pytest.raises(TidemarkError) as error:
        ask()
    return error.value


def note(writer: MarkWriter, time: str, *files: str, most: str | None = None) -> None:
    writer.note_time(millis(time), files=files, max_time=None if most is None else millis(most))


def test_adjacent_ranges_divide_the_files_and_can_be_read_again(lake: Lake) -> None:
    eu, us = lake.marks.writer("eu"), lake.marks.writer("us")
    note(eu, "10:00", lake.write("1.json", "09:00", "10:30"))
    note(us, "10:00", lake.write("us/2.json", "09:59"))
    first = lake.marks.cut_at(millis("10:00"))
    before = ids(lake.between(None, first))
    note(eu, "11:00", lake.write("3.json", "10:10"), lake.write("a [b]{c,d}%.json", "10:20"))
    lake.write("ad.json", "10:21")
    note(us, "11:00")
    second = lake.marks.cut_at(millis("11:00"))
    stored = Cut.from_text(first.text), Cut.from_text(second.text)
    assert before == ["1.json 09:00", "1.json 10:30", "us/2.json 09:59"]
    after = ids(lake.between(*stored))
    assert after == ["3.json 10:10", "a [b]{c,d}%.json 10:20"]
    note(eu, "12:00", lake.write("4.json", "11:30"))
    assert ids(lake.between(*stored)) == after
    assert ids(lake.between(None, first)) == before


def test_a_range_of_times_has_exactly_its_rows(lake: Lake) -> None:
    eu, us = lake.marks.writer("eu"), lake.marks.writer("us")
    note(eu, "10:00", lake.write("1.json", "09:00", "10:00"), most="10:00")
    note(us, "10:00", lake.write("2.json", "10:30", "11:30"), most="11:30")
    note(eu, "11:00", lake.write("3.json", "11:00", "11:01", "10:00:01"), most="11:01")
    note(us, "12:00", lake.write("4.json", "12:01"))
    note(eu, "12:00", lake.write("5.json", "11:02"))
    hour = ["2.json 10:30", "3.json 10:00:01", "3.json 11:00"]
    assert lake.times("10:00", "11:00") == hour
    assert lake.times("11:00", "12:00") == ["2.json 11:30", "3.json 11:01", "5.json 11:02"]
    assert lake.times(None, "10:00") == ["1.json 09:00", "1.json 10:00"]
    assert lake.times("11:00", "11:00") == []
    # The first file has no row later than 10:30, so it is not opened.
    (lake.folder / "1.json").unlink()
    assert lake.times("10:30", "11:00") == ["3.json 11:00"]
    assert refused(lambda: lake.times("09:00", "11:00")).code == "CUT_EXPIRED"
    computed = F.to_timestamp(F.date_format("time", "yyyy-MM-dd HH:mm:ss"))
    assert lake.times("10:30", "11:00", time=computed) == ["3.json 11:00"]
    exact = {"by": "event_time", "marks": lake.marks, "time": "time"}
    dates = "2024-01-01T10:00:00.999999+00:00", "2024-01-01T11:01:00Z"
    found = ids(lake.between(*(dates[1], "2024-01-01T11:02:00+00:00"), **exact))
    assert found == ["5.json 11:02"]
    (lake.folder / "1.json").write_text("")
    assert ids(lake.between(*dates, **exact)) == [*hour, "3.json 11:01"]


def test_a_read_from_the_beginning_is_logged_with_the_writer(
    lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    note(lake.marks.writer("eu"), "11:00", lake.write("1.json", "09:00", "10:30"))
    with caplog.at_level(logging.WARNING, "tidemark"):
        assert lake.times(None, "11:00") == ["1.json 09:00", "1.json 10:30"]
        assert not caplog.records
        assert lake.times("10:00", "11:00") == ["1.json 10:30"]
    assert [record.message for record in caplog.records] == [
        "read_between reads from the beginning of the stream, because no mark of writer 'eu' has "
        "a max_time below start"
    ]


def test_a_file_that_has_gone_is_named(lake: Lake, spark: SparkSession) -> None:
    writer = lake.marks.writer("eu")
    note(writer, "10:00", lake.write("1.json", "09:00"), lake.write("2[a].json", "09:00"))
    cut = lake.marks.cut_at(millis("10:00"))
    rows = lake.between(None, cut)
    (lake.folder / "2[a].json").unlink()
    with with_settings(spark, {"spark.sql.files.ignoreMissingFiles": "true"}):
        error = refused(lambda: lake.between(None, cut))
        assert error.code == "CUT_EXPIRED" and "2\\[a\\].json" in error.message
        # One that goes later is Spark's own error, and never a smaller result.
        with pytest.raises(Exception, match="FILE_NOT_EXIST"):
            rows.collect()


def test_a_name_in_a_mark_cannot_lead_out_of_the_folder(lake: Lake) -> None:
    secret = lake.folder.parent / "secret.json"
    lake.write("1.json", "09:00")
    secret.write_text('{"id": "secret", "time": "2024-01-01T09:00:00Z"}\n')
    for name in ("../secret.json", str(secret), f"file://{secret}", "a/../../secret.json"):
        put(lake.folder / "_tidemark", [{"t": millis("10:00"), "p": {"files": ["1.json", name]}}])
        error = refused(lambda: lake.between(None, lake.marks.cut_at(millis("10:00"))))
        assert error.code == "CUT_NOT_READABLE" and repr(name) in error.message
    # A pattern is the name of a file that does not exist.
    put(lake.folder / "_tidemark", [{"t": millis("10:00"), "p": {"files": ["*.json"]}}])
    error = refused(lambda: lake.between(None, lake.marks.cut_at(millis("10:00"))))
    assert error.code == "CUT_EXPIRED"


def test_folders_of_partitions_become_columns_and_an_empty_range_has_the_same(lake: Lake) -> None:
    note(lake.marks.writer("eu"), "10:00", lake.write("day=7/1.json", "09:00"))
    cut = lake.marks.cut_at(millis("10:00"))
    rows = lake.between(None, cut)
    assert [row["day"] for row in rows.collect()] == [7]
    nothing = lake.between(cut, cut)
    assert nothing.schema == rows.schema and nothing.collect() == []


def test_purged_marks_between_two_cuts_are_an_error(lake: Lake) -> None:
    log = lake.folder / "_tidemark"
    mark = {"w": "eu", "p": {"files": [lake.write("1.json", "09:00")]}}
    put(log, [{**mark, "t": millis("10:00")}])
    start = lake.marks.cut_at(millis("10:00"))
    lake.write("9.json", "09:00")
    late = {"w": "eu", "n": 9, "t": millis("12:00"), "p": {"files": ["9.json"]}}
    put(log, [late])
    error = refused(lambda: lake.between(start, lake.marks.cut_at(millis("12:00"))))
    assert error.code == "CUT_EXPIRED" and "writer 'eu'" in error.message
    assert refused(lambda: lake.times("10:00", "12:00")).code == "CUT_EXPIRED"
    put(log, [{**late, "n": 1}])
    assert ids(lake.between(start, lake.marks.cut_at(millis("12:00")))) == ["9.json 09:00"]


@pytest.fixture
def noted(lake: Lake) -> tuple[Lake, Cut]:
    note(lake.marks.writer("eu"), "10:00", lake.write("1.json", "09:00"), most="09:00")
    return lake, lake.marks.cut_at(millis("10:00"))


def test_what_would_leave_rows_out_in_silence_is_refused(noted: tuple[Lake, Cut]) -> None:
    lake, cut = noted
    for name, value in [
        ("ignoreMissingFiles", True), ("ignorecorruptfiles", "true"), ("path", "/x"),
        ("basePath", "/x"),
    ]:  # fmt: skip
        error = refused(
            lambda name=name, value=value: lake.between(None, cut, options={name: value})
        )
        assert error.code == "INVALID_OPTION" and error.parameters["option"].lower() == name.lower()
    assert refused(lambda: lake.between(None, cut, path=None)).parameters["option"] == "path"
    assert ids(lake.between(None, cut, options={"ignoreMissingFiles": "false"})) == ["1.json 09:00"]


def test_a_cut_of_another_kind_than_the_format_is_refused(noted: tuple[Lake, Cut]) -> None:
    lake, cut = noted
    kafka = {"subscribe": "orders"}
    error = refused(lambda: lake.between(None, cut, format="kafka", options=kafka))
    assert error.code == "MARK_POSITION_MISMATCH"
    offsets = Cut(KafkaPosition({"orders": {0: 7}}))
    assert refused(lambda: lake.between(None, offsets)).code == "MARK_POSITION_MISMATCH"
    assert refused(lambda: lake.between(offsets, cut)).code == "MARK_POSITION_MISMATCH"
    error = refused(lambda: lake.between(None, cut, format="delta"))
    assert error.code == "MARK_POSITION_MISMATCH"


def test_cuts_and_times_are_not_mixed(noted: tuple[Lake, Cut]) -> None:
    lake, cut = noted
    log = {"by": "event_time", "marks": lake.marks, "time": "time"}
    asks: list[tuple[str, Callable[[], object]]] = [
        ("start", lambda: lake.between("2024-01-01T09:00:00Z", cut)),
        ("end", lambda: lake.between(None, millis("10:00"))),
        ("end", lambda: lake.between(cut, None)),
        ("start", lambda: lake.between(cut, millis("10:00"), **log)),
        ("end", lambda: lake.between(None, "10:00", **log)),
        ("end", lambda: lake.between(millis("10:00"), millis("09:00"), **log)),
        ("marks", lambda: lake.between(None, millis("10:00"), **(log | {"marks": None}))),
        ("time", lambda: lake.between(None, millis("10:00"), **(log | {"time": None}))),
        ("by", lambda: lake.between(None, cut, by="offset")),
    ]
    for option, ask in asks:
        error = refused(ask)
        assert (error.code, error.parameters["option"]) == ("INVALID_OPTION", option)
    assert refused(lambda: lake.times("09:00", "10:01")).code == "NO_CUT"


def test_a_time_column_that_is_not_a_timestamp_is_refused(noted: tuple[Lake, Cut]) -> None:
    lake, _ = noted
    for column, code in [
        ("nope", "UNKNOWN_COLUMN"), ("id", "COLUMN_NOT_TIMESTAMP"),
        (F.col("time").cast("timestamp_ntz"), "COLUMN_NOT_TIMESTAMP"),
        (F.window("time", "1 hour"), "COLUMN_NOT_TIMESTAMP"),
    ]:  # fmt: skip
        error = refused(lambda column=column: lake.times("08:00", "10:00", time=column))
        assert error.code == code
    assert lake.times("08:00", "10:00", time="TIME") == ["1.json 09:00"]
