"""A writer that notes times: what it may say, what is written, and what is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from support.marks import code_of, kinds, log_at, no_sync
from support.raising import raising

from tidemark import TidemarkError
from tidemark.marks import (
    DeltaPosition,
    FilesPosition,
    KafkaPosition,
    Marks,
    NumberPosition,
    SinkBatchPosition,
)
from tidemark_marks._protocol.times import Time

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def test_a_writer_writes_what_it_was_told_to_state(tmp_path: Path) -> None:
    log = log_at(tmp_path / "log", 50)
    with log.writer("gateway-7") as writer:
        writer.note_time(100, files=["a/1.json"])
        writer.alive()
        writer.idle()
        writer.note_time(100, files=["a/2.json", "a/1.json"])
        writer.end()
    assert kinds(log) == [
        ("alive", None), ("note", 100), ("alive", None), ("idle", None), ("note", 100), ("end", None),
    ]  # fmt: skip
    assert [mark.number for mark in log.read().marks] == [0, 1, 2, 3, 4, 5]
    assert {mark.written_millis for mark in log.read().marks} == {50}
    assert log.read().marks[4].position == FilesPosition(frozenset({"a/1.json", "a/2.json"}))


@pytest.mark.parametrize("fails", [True, False])
def test_leaving_the_block_closes_and_states_nothing(tmp_path: Path, fails: bool) -> None:
    log = log_at(tmp_path)
    with suppress(KeyError), log.writer("w") as writer:
        writer.note_time(100, NumberPosition(1))
        if fails:
            raise KeyError
    assert kinds(log) == [("alive", None), ("note", 100)]
    with pytest.raises(TidemarkError) as error:
        writer.alive()
    assert code_of(error) == "MARK_WRITER_CLOSED"


def test_files_are_committed_in_any_order_of_their_times(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")
    writer.commit(200, ["b"])
    writer.commit(100, ["a"])
    writer.commit(None, ["c"])
    assert kinds(log)[1:] == [("note", 200), ("alive", None), ("alive", None)]
    assert log.window(FilesPosition(frozenset("b"))).lower_millis == 200
    assert log.cut_at(200).files == {"b"}
    writer.commit(300, ["d"])
    assert log.cut_at(300).files == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("time", "millis"),
    [
        (100, 100),
        (-5, -5),
        (datetime(1970, 1, 1, 0, 0, 1, 2999, tzinfo=timezone.utc), 1002),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01 01:00:01.5+01:00", 1500),
    ],
)
def test_a_time_is_noted_to_the_millisecond_before(tmp_path: Path, time: Time, millis: int) -> None:
    log = log_at(tmp_path)
    with log.writer("w") as writer:
        writer.note_time(time, NumberPosition(1))
    assert kinds(log)[1] == ("note", millis)


@pytest.mark.parametrize(
    "time", [1.5, True, None, 2**63, "noon", "2026-11-23T12:00", datetime(2026, 1, 1)]
)
def test_what_is_not_an_exact_time_is_refused(tmp_path: Path, time: object) -> None:
    writer = log_at(tmp_path).writer("w")
    with pytest.raises(TidemarkError) as error:
        writer.note_time(time, NumberPosition(1))  # type: ignore[arg-type]
    assert code_of(error) == "INVALID_OPTION"


MOST = 9_223_372_036_854_775
"""The most ms before and after the epoch that a timestamp of Spark holds: it counts microseconds in 64 bits."""


@pytest.mark.parametrize("time", [MOST + 1, -MOST - 1, 1_795_404_000_000_000_000, 2**63 - 1])
def test_a_time_that_no_timestamp_can_hold_is_refused(tmp_path: Path, time: int) -> None:
    log = log_at(tmp_path)
    flushed: list[int] = []

    def flush() -> NumberPosition:
        flushed.append(1)
        return NumberPosition(1)

    writer = log.writer("w", flush=flush)
    calls = {
        "time": [lambda: writer.note_time(time), lambda: writer.commit(time, ["a"])],
        "max_time": [lambda: writer.note_time(1, max_time=time)],
    }
    for option, several in calls.items():
        for call in several:
            with raising("INVALID_OPTION", option=option, value=time):
                call()
    assert not flushed
    assert kinds(log) == [("alive", None)]


def test_a_clock_that_counts_nanoseconds_is_not_noted(tmp_path: Path) -> None:
    log = Marks(tmp_path, clock=lambda: 1_795_404_000_000_000_000)
    period = timedelta(hours=1)
    writer = log.writer("w", flush=lambda: NumberPosition(1), automatic=period)
    with writer, raising("INVALID_OPTION", option="clock", value=1795403999999999999):
        writer.note_now()
    assert kinds(log) == [("alive", None)]


@pytest.mark.parametrize(
    ("options", "most"), [({}, MOST), ({"max_ahead": None}, 2**63 - 1)], ids=["clock", "number"]
)
def test_the_first_and_the_last_time_that_may_be_noted(
    tmp_path: Path, options: dict[str, Any], most: int
) -> None:
    log = log_at(tmp_path, **options)
    with log.writer("w") as writer:
        writer.note_time(-most, NumberPosition(1), max_time=-most)
        writer.note_time(most, NumberPosition(2), max_time=most)
    assert kinds(log)[1:] == [("note", -most), ("note", most)]
    assert [mark.max_time_millis for mark in log.read().marks[1:]] == [-most, most]


@pytest.mark.parametrize("name", ["", "/a", "a//b", "../a", "a/./b", "a/", "\ud800"])
def test_a_file_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    writer = log_at(tmp_path).writer("w")
    with pytest.raises(TidemarkError) as error:
        writer.note_time(1, files=[name])
    assert code_of(error) == "INVALID_OPTION"


@pytest.mark.parametrize(
    "position",
    [None, {"orders": {0: 1}}, NumberPosition(2**63), KafkaPosition({"t": {-1: 1}}), SinkBatchPosition(-1),
     KafkaPosition({"t": {0: 1.5}}), KafkaPosition([]), KafkaPosition({"t": {"0": 1}}), FilesPosition(frozenset([1]))],
)  # fmt: skip
def test_what_is_not_a_position_is_refused(tmp_path: Path, position: object) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")
    with pytest.raises(TidemarkError) as error:
        writer.note_time(1, position)  # type: ignore[arg-type]
    assert code_of(error) == "INVALID_OPTION"
    assert kinds(log) == [("alive", None)]


def test_a_lower_time_is_refused_and_an_equal_one_is_written(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")
    writer.note_time(100, NumberPosition(1))
    writer.note_time(100, NumberPosition(2))
    with raising("MARK_GOES_BACK", given="1970-01-01T00:00:00.099Z"):
        writer.note_time(99, NumberPosition(3))
    assert kinds(log)[1:] == [("note", 100), ("note", 100)]


@pytest.mark.parametrize(
    ("first", "second", "where"),
    [
        (KafkaPosition({"t": {0: 5, 1: 5}}), KafkaPosition({"t": {0: 6, 1: 4}}), "t-1"),
        (NumberPosition(5), NumberPosition(4), "number"),
        (SinkBatchPosition(5), SinkBatchPosition(4), "sink"),
        (DeltaPosition("x", 5), DeltaPosition("x", 4), "delta"),
    ],
)
def test_a_position_behind_the_last_one_is_refused(
    tmp_path: Path, first: NumberPosition, second: NumberPosition, where: str
) -> None:
    log = log_at(tmp_path)
    log.writer("w").note_time(1, first)
    # Also in the next life: the promise binds all lives of a writer.
    with pytest.raises(TidemarkError) as error:
        log.writer("w").note_time(2, second)
    assert code_of(error) == "MARK_GOES_BACK"
    assert (error.value.parameters["position"], error.value.parameters["noted"]) == (where, "5")


@pytest.mark.parametrize("other", [SinkBatchPosition(9), DeltaPosition("y", 9)])
def test_a_position_of_another_kind_or_table_is_refused(
    tmp_path: Path, other: SinkBatchPosition
) -> None:
    writer = log_at(tmp_path).writer("w")
    writer.note_time(1, DeltaPosition("x", 1))
    with pytest.raises(TidemarkError) as error:
        writer.note_time(2, other)
    assert code_of(error) == "MARK_POSITION_MISMATCH"


def test_a_kafka_partition_that_is_left_out_stays_where_it_was(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    with log.writer("w") as writer:
        writer.note_time(1, KafkaPosition({"a": {0: 5, 1: 5}}))
        writer.note_time(2, KafkaPosition({"a": {1: 6}, "b": {0: 1}}))
    assert json.loads(log.cut_at(2).kafka_offsets) == {"a": {"0": 5, "1": 6}, "b": {"0": 1}}


def test_a_closed_writer_notes_nothing(tmp_path: Path) -> None:
    with log_at(tmp_path).writer("w") as writer:
        pass
    writer.end()
    with pytest.raises(TidemarkError) as error:
        writer.alive()
    assert code_of(error) == "MARK_WRITER_CLOSED"


def test_marks_need_no_spark(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys, tidemark\n"
        f"log = tidemark.marks.Marks({str(tmp_path)!r})\n"
        "with log.writer('w') as writer:\n    writer.note_time(1, files=['a'])\n"
        "assert log.is_complete(1)\n"
        "assert not [m for m in sys.modules if m.startswith(('py4j', 'pyspark'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
