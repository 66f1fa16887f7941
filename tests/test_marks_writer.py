"""A writer that notes times: what it may say, what is written, and what is refused."""

from __future__ import annotations

import json
import os
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from support.marks import log_at, no_sync

from tidemark import (
    DeltaPosition,
    FilesPosition,
    KafkaPosition,
    Marks,
    MarkWriter,
    NumberPosition,
    SinkPosition,
    TidemarkError,
    error_code,
)
from tidemark._marks.times import Time

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def kinds(log: Marks) -> list[tuple[str, int | None]]:
    return [(mark.kind, mark.time_millis) for mark in log.read().marks]


def code_of(error: pytest.ExceptionInfo[TidemarkError]) -> str | None:
    return error_code(error.value)


def test_a_writer_leaves_an_end_mark_on_a_clean_exit(tmp_path: Path) -> None:
    log = log_at(tmp_path / "log", 50)
    with log.writer("gateway-7") as writer:
        writer.note_time(100, files=["a/1.json"])
        writer.alive()
        writer.idle()
        writer.note_time(100, files=["a/2.json", "a/1.json"])
    assert kinds(log) == [
        ("alive", None), ("note", 100), ("alive", None), ("idle", None), ("note", 100), ("end", None),
    ]  # fmt: skip
    assert [mark.number for mark in log.read().marks] == [0, 1, 2, 3, 4, 5]
    assert {mark.written_millis for mark in log.read().marks} == {50}
    assert log.read().marks[4].position == FilesPosition(frozenset({"a/1.json", "a/2.json"}))


def test_a_writer_leaves_no_end_mark_after_an_exception(tmp_path: Path) -> None:
    log = log_at(tmp_path)

    def fail() -> None:
        with log.writer("w") as writer:
            writer.note_time(100, NumberPosition(1))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert kinds(log) == [("alive", None), ("note", 100)]


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
def test_what_is_no_exact_time_is_refused(tmp_path: Path, time: object) -> None:
    writer = log_at(tmp_path).writer("w")
    with pytest.raises(TidemarkError) as error:
        writer.note_time(time, NumberPosition(1))  # type: ignore[arg-type]
    assert code_of(error) == "INVALID_OPTION"


@pytest.mark.parametrize("name", ["", "/a", "a//b", "../a", "a/./b", "a/", "\ud800"])
def test_a_file_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    writer = log_at(tmp_path).writer("w")
    with pytest.raises(TidemarkError) as error:
        writer.note_time(1, files=[name])
    assert code_of(error) == "INVALID_OPTION"


@pytest.mark.parametrize(
    "position",
    [None, {"orders": {0: 1}}, NumberPosition(2**63), KafkaPosition({"t": {-1: 1}}), SinkPosition(-1),
     KafkaPosition({"t": {0: 1.5}}), KafkaPosition([]), KafkaPosition({"t": {"0": 1}}), FilesPosition(frozenset([1]))],
)  # fmt: skip
def test_what_is_no_position_is_refused(tmp_path: Path, position: object) -> None:
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
    with pytest.raises(TidemarkError) as error:
        writer.note_time(99, NumberPosition(3))
    assert code_of(error) == "MARK_GOES_BACK"
    assert "1970-01-01T00:00:00.099Z" in str(error.value)
    assert kinds(log)[1:] == [("note", 100), ("note", 100)]


@pytest.mark.parametrize(
    ("first", "second", "where"),
    [
        (KafkaPosition({"t": {0: 5, 1: 5}}), KafkaPosition({"t": {0: 6, 1: 4}}), "t-1"),
        (NumberPosition(5), NumberPosition(4), "number"),
        (SinkPosition(5), SinkPosition(4), "sink"),
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


@pytest.mark.parametrize("other", [SinkPosition(9), DeltaPosition("y", 9)])
def test_a_position_of_another_kind_or_table_is_refused(
    tmp_path: Path, other: SinkPosition
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


def test_a_new_life_follows_the_last_mark_of_the_life_before(tmp_path: Path) -> None:
    first = log_at(tmp_path, 1000).writer("w")
    first.note_time(100, NumberPosition(1))
    # The clock has gone back, and the epoch rises nevertheless.
    second = log_at(tmp_path, 500).writer("w")
    assert (first.epoch, second.epoch) == (1000, 1001)
    second.note_time(200, NumberPosition(2))
    marks = log_at(tmp_path).read().marks
    assert [mark.place for mark in marks] == [(1000, 0), (1000, 1), (1001, 0), (1001, 1)]
    assert [mark.after for mark in marks] == [None, None, (1000, 1), None]
    with pytest.raises(TidemarkError) as error:
        second.note_time(99, NumberPosition(3))
    assert code_of(error) == "MARK_GOES_BACK"


def test_a_new_life_seals_what_the_life_before_has_left(tmp_path: Path) -> None:
    log = log_at(tmp_path, 7)
    for life in range(3):
        writer = log.writer("w")
        for number in range(3):
            writer.note_time(life * 10 + number, files=[f"{life}-{number}"])
    files = sorted(one.name for one in tmp_path.iterdir())
    assert files == ["w.7.0-3.marks", "w.8.0-3.marks", "w.9.0.marks", "w.9.1.marks"]
    assert len(log.cut_at(22).files) == 9


def test_a_writer_that_was_replaced_is_told_and_its_marks_do_not_count(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    old = log.writer("w")
    old.note_time(100, NumberPosition(10))
    new = log.writer("w")
    with pytest.raises(TidemarkError) as error:
        old.note_time(900, NumberPosition(11))
    assert code_of(error) == "MARK_WRITER_FENCED"
    # One that does not look, as another program may not.
    (tmp_path / "w.0.1.marks").write_bytes(b"")
    old._life._is_overtaken = False
    old._life.add(log.read().marks[1]._replace(number=2, time_millis=900))
    assert ("note", 900) in kinds(log)
    new.note_time(200, NumberPosition(20))
    window = log.window(NumberPosition(15))
    assert (window.lower_millis, window.upper_millis) == (100, 200)


def test_of_lives_that_begin_at_once_the_last_one_writes_and_the_others_are_told(
    tmp_path: Path,
) -> None:
    log = log_at(tmp_path, 5)
    begun: list[MarkWriter] = []
    refused: list[str | None] = []

    def begin() -> None:
        try:
            begun.append(log.writer("w"))
        except TidemarkError as error:
            refused.append(error.code)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(refused) <= {"MARK_WRITER_FENCED"}
    last, *others = sorted(begun, key=lambda writer: -writer.epoch)
    last.note_time(1, NumberPosition(1))
    for other in others:
        with pytest.raises(TidemarkError, match="MARK_WRITER_FENCED"):
            other.note_time(2, NumberPosition(1))
    assert log.window(NumberPosition(1)).lower_millis == 1


def test_the_largest_epoch_leaves_no_room_for_a_new_life(tmp_path: Path) -> None:
    (tmp_path / f"w.{2**63 - 1}.0.marks").write_bytes(b"")
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path).writer("w")
    assert code_of(error) == "MARK_NOT_WRITTEN"


def test_many_marks_are_sealed_in_files_that_never_change(tmp_path: Path) -> None:
    log = log_at(tmp_path, 0)
    with log.writer("w") as writer:
        for number in range(1, 600):
            writer.note_time(number, NumberPosition(number))
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == ["w.0.0-255.marks", "w.0.0.marks", "w.0.1.marks", "w.0.256-511.marks"]
    assert [mark.number for mark in log.read().marks] == list(range(601))


def test_large_marks_are_sealed_early(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")
    for number in range(6):
        writer.note_time(number, files=[f"{number}-{'x' * 200}-{i}" for i in range(1000)])
    assert max(one.stat().st_size for one in tmp_path.iterdir()) < 1_000_000
    assert len(log.cut_at(5).files) == 6000


def test_a_writer_removes_marks_beyond_its_retention(tmp_path: Path) -> None:
    now = [0]
    log = Marks(tmp_path, clock=lambda: now[0], max_ahead=None)
    writer = log.writer("w", retain=timedelta(seconds=1))
    for number in range(1, 1100):
        now[0] = number
        writer.note_time(number, files=[str(number)])
    assert log.read().marks[0].number == 0
    for number in range(1100, 1800):
        now[0] = number
        writer.note_time(number, files=[str(number)])
    # What was purged counts as read: the rest of the chain is whole.
    assert log.read().marks[0].number == 768
    assert log.window(FilesPosition(frozenset(map(str, range(500, 1701))))).lower_millis == 1700


def test_a_mark_of_more_than_a_megabyte_is_refused_and_the_next_one_is_written(
    tmp_path: Path,
) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")
    with pytest.raises(TidemarkError) as error:
        writer.note_time(1, files=[f"{i}-{'x' * 200}" for i in range(9000)])
    assert code_of(error) == "MARK_TOO_LONG"
    writer.note_time(1, files=["a"])
    assert [mark.number for mark in log.read().marks] == [0, 1]


def test_a_mark_that_could_not_be_written_comes_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(TidemarkError) as error:
            writer.note_time(100, files=["a"])
    assert code_of(error) == "MARK_NOT_WRITTEN"
    assert "No space left on device" in str(error.value)
    writer.note_time(200, files=["b"])
    assert kinds(log) == [("alive", None), ("note", 100), ("note", 200)]
    assert log.cut_at(200).files == {"a", "b"}


@pytest.mark.parametrize("failing", ["listdir", "stat"])
def test_a_log_that_cannot_be_looked_at_is_an_error_with_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    log = log_at(tmp_path)
    writer = log.writer("w")

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, fail)
        with pytest.raises(TidemarkError) as error:
            writer.note_time(1, NumberPosition(1))
        assert code_of(error) == "MARK_NOT_WRITTEN"
        if failing == "listdir":
            for ask in (log.read, log.watermark, lambda: log.cut_at(1), lambda: log.purge(1)):
                with pytest.raises(TidemarkError) as error:
                    ask()
                assert code_of(error) == "MARK_LOG_NOT_READ"
                assert error.value.parameters["reason"] == "Permission denied"
    writer.note_time(2, NumberPosition(2))


@pytest.mark.parametrize("damage", [b"", b"00000000 {}\n"])
def test_a_new_life_seals_again_what_a_damaged_sealed_file_has_lost(
    tmp_path: Path, damage: bytes
) -> None:
    log = log_at(tmp_path, 7)
    writer = log.writer("w")
    for number in range(3):
        writer.note_time(number, files=[str(number)])
    # As if the life had been killed after it sealed its marks, and before it removed them.
    live = (tmp_path / "w.7.0.marks").read_bytes()
    lines = live.splitlines(keepends=True)
    (tmp_path / "w.7.0-3.marks").write_bytes(lines[1] + damage)
    log.writer("w").note_time(9, files=["9"])
    assert (tmp_path / "w.7.0-3.marks").read_bytes() == live
    assert log.cut_at(9).files == {"0", "1", "2", "9"}


def test_marks_that_only_a_damaged_file_had_hold_the_chain(tmp_path: Path) -> None:
    log = log_at(tmp_path, 7)
    writer = log.writer("w")
    for number in range(300):
        writer.note_time(number, files=[str(number)])
    for slot in (0, 1):
        (tmp_path / f"w.7.{slot}.marks").unlink()
    sealed = tmp_path / "w.7.0-255.marks"
    lines = sealed.read_bytes().splitlines(keepends=True)
    sealed.write_bytes(b"".join(lines[:100]))
    log.writer("w").note_time(900, files=["new"])
    # What is lost was finished before the new mark, and nobody knows its files.
    assert log.read().marks[-2].after == (7, 255)
    assert log.window(FilesPosition(frozenset({"new", *map(str, range(300))}))).lower_millis == 98


def test_a_log_is_durable_in_the_folders_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(os.readlink(f"/proc/self/fd/{file}"))
    )
    log_at(tmp_path / "a" / "b").writer("w")
    assert {str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")} <= set(synced)


def test_a_closed_writer_notes_nothing(tmp_path: Path) -> None:
    with log_at(tmp_path).writer("w") as writer:
        pass
    writer.end()
    with pytest.raises(TidemarkError) as error:
        writer.alive()
    assert code_of(error) == "MARK_WRITER_CLOSED"


@pytest.mark.parametrize(
    "location", ["", "s3://bucket/x", "hdfs://x/y", None, 7, "a\0b", "file://host/x"]
)
def test_a_location_that_is_not_local_is_refused(location: object) -> None:
    with pytest.raises(TidemarkError) as error:
        Marks(location)  # type: ignore[arg-type]
    assert code_of(error) == "INVALID_OPTION"


def test_a_location_may_be_a_uri(tmp_path: Path) -> None:
    assert Marks(f"file://{tmp_path}/a%20b").location == f"{tmp_path}/a b"
    assert Marks(tmp_path).location == str(tmp_path)


def test_marks_need_no_spark(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys, tidemark\n"
        f"log = tidemark.Marks({str(tmp_path)!r})\n"
        "with log.writer('w') as writer:\n    writer.note_time(1, files=['a'])\n"
        "assert log.is_complete(1)\n"
        "assert not [m for m in sys.modules if m.startswith(('py4j', 'pyspark'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class Rows:
    """A producer that buffers rows until it is flushed."""

    def __init__(self) -> None:
        self.buffered: list[int] = []
        self.visible: list[int] = []

    def flush(self) -> NumberPosition:
        self.visible += self.buffered
        self.buffered.clear()
        return NumberPosition(len(self.visible))


@pytest.fixture
def rows() -> Rows:
    return Rows()


def test_a_flush_comes_before_the_mark(tmp_path: Path, rows: Rows) -> None:
    log = log_at(tmp_path)
    with log.writer("w", flush=rows.flush) as writer:
        rows.buffered += [1, 2]
        writer.note_time(2)
        rows.buffered += [3]
    assert [mark.position for mark in log.read().marks if mark.position] == [
        NumberPosition(2),
        NumberPosition(3),
    ]


def test_automatic_noting_takes_the_clock_before_the_flush(tmp_path: Path, rows: Rows) -> None:
    now = [1000]
    log = Marks(tmp_path, clock=lambda: now[0])
    hour = timedelta(hours=1)
    with log.writer("w", flush=rows.flush, automatic=hour) as writer:
        for step in (0, 5, -700, 1, 900):  # the clock runs back
            now[0] += step
            with writer.stamp() as millis:
                rows.buffered.append(millis)
            before = len(rows.visible) + len(rows.buffered)
            writer.note_now()
            with writer.stamp() as millis:
                rows.buffered.append(millis)
            noted = [mark for mark in log.read().marks if mark.kind == "note"][-1]
            assert noted.time_millis is not None
            assert noted.position == NumberPosition(before)
            assert all(time > noted.time_millis for time in rows.buffered)
        with pytest.raises(TidemarkError) as error:
            writer.note_time(1)
        assert code_of(error) == "MARK_AUTOMATIC"
    assert rows.visible == sorted(rows.visible)


def test_automatic_noting_goes_on_above_the_times_of_the_life_before(
    tmp_path: Path, rows: Rows
) -> None:
    with Marks(tmp_path, clock=lambda: 0).writer("w") as writer:
        writer.note_time(5000, NumberPosition(0))
    log = Marks(tmp_path, clock=lambda: 100)
    with log.writer("w", flush=rows.flush, automatic=timedelta(hours=1)) as again:
        with again.stamp() as millis:
            assert millis == 5001
        again.note_now()
    assert kinds(log)[-2] == ("note", 5000)


def test_automatic_noting_repeats_by_itself_and_survives_a_failing_flush(tmp_path: Path) -> None:
    log = Marks(tmp_path)
    called = threading.Event()
    calls: list[int] = []

    def flush() -> NumberPosition:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("no broker")
        called.set()
        return NumberPosition(len(calls))

    with log.writer("w", flush=flush, automatic=timedelta(milliseconds=1)):
        assert called.wait(10)
    assert ("end", None) in kinds(log)
    with pytest.raises(TidemarkError) as error:
        log.writer("v", automatic=timedelta(seconds=1))  # type: ignore[call-overload]
    assert code_of(error) == "INVALID_OPTION"


@pytest.mark.parametrize("call", ["alive", "idle", "end", "close", "note_now", "stamp", "commit"])
def test_a_call_inside_the_stamp_of_a_row_is_refused(tmp_path: Path, rows: Rows, call: str) -> None:
    log = log_at(tmp_path)
    with log.writer("w", flush=rows.flush, automatic=timedelta(hours=1)) as writer:
        calls = {
            "commit": lambda: writer.commit(None, ["a"]),
            "stamp": lambda: writer.stamp().__enter__(),
        }
        with writer.stamp(), pytest.raises(TidemarkError) as error:
            calls.get(call, lambda: getattr(writer, call)())()
        assert code_of(error) == "MARK_CALL_INSIDE"
        # After the block, every call is allowed again.
        writer.note_now()
