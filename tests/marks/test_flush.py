"""A writer that flushes by itself: rows come before their mark, and automatic noting takes the clock."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest
from support.marks import code_of, kinds, log_at, no_sync

from tidemark import TidemarkError
from tidemark.marks import Marks, NumberPosition

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


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
        writer.end()
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
    with log.writer("w", flush=rows.flush, automatic=timedelta(hours=1)) as second_life:
        with second_life.stamp() as millis:
            assert millis == 5001
        second_life.note_now()
    assert kinds(log)[-1] == ("note", 5000)


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

    with log.writer("w", flush=flush, automatic=timedelta(milliseconds=1)) as writer:
        assert called.wait(10)
        writer.end()
    assert kinds(log)[-1] == ("end", None)
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
