"""Readers of a mark log: the watermark of all writers, windows, and malicious logs."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from support.marks import log_at, lower, no_sync, put, refused

from tidemark import TidemarkError
from tidemark.marks import Cut, FilesPosition, KafkaPosition, Marks, NumberPosition

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    log = log_at(tmp_path / "none")
    assert log.watermark() is None
    assert not log.is_complete(0)
    assert log.window(NumberPosition(9)).lower_millis is None
    assert list(log.read().marks) == []
    assert log.purge(9) == 0
    with pytest.raises(TidemarkError) as error:
        log.cut_at(0)
    assert refused(error) == ("NO_CUT", "")
    assert not (tmp_path / "none").exists()


def test_a_log_that_is_not_there_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = log_at(Path("mistyped"), expected=["eu"])
    with caplog.at_level(logging.WARNING, "tidemark"):
        for _ in range(3):
            assert not log.is_complete(0)
    (record,) = caplog.records
    assert str(tmp_path / "mistyped") in record.message
    caplog.clear()
    # A folder that exists may wait for its first mark.
    (tmp_path / "empty").mkdir()
    assert not log_at(tmp_path / "empty").is_complete(0)
    assert not caplog.records


def test_the_watermark_is_the_smallest_time_of_all_writers(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    eu, us = log.writer("eu"), log.writer("us")
    eu.note_time(100, KafkaPosition({"t": {0: 10}}))
    assert log.watermark() is None
    us.note_time(150, KafkaPosition({"t": {0: 7, 1: 3}}))
    watermark = log.watermark()
    assert watermark is not None
    assert (watermark.lower_millis, watermark.upper_millis) == (100, 150)
    assert watermark.cut == Cut(KafkaPosition({"t": {0: 10, 1: 3}}))
    assert log.is_complete(100) and not log.is_complete(101)
    assert not log.is_complete("1970-01-01T00:00:00.100001Z")


def test_the_watermark_never_goes_back(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    eu = log.writer("eu")
    eu.note_time(100, NumberPosition(1))
    assert lower(log) == 100
    us = log.writer("us")
    us.note_time(50, NumberPosition(2))
    eu.note_time(200, NumberPosition(3))
    assert lower(log) == 100
    us.note_time(150, NumberPosition(4))
    assert lower(log) == 150


def test_an_ended_writer_holds_nothing_and_its_rows_are_before_the_cut(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    eu = log.writer("eu")
    eu.note_time(100, NumberPosition(10))
    assert lower(log) == 100
    us = log.writer("us")
    us.note_time(50, NumberPosition(20))
    us.end(NumberPosition(30))
    eu.note_time(200, NumberPosition(25))
    watermark = log.watermark()
    assert watermark is not None and watermark.lower_millis == 200
    assert watermark.cut.position == NumberPosition(30)
    # A new life holds from its first moment.
    log.writer("us")
    eu.note_time(300, NumberPosition(40))
    assert lower(log) == 200


def test_a_writer_whose_block_was_left_still_holds(tmp_path: Path) -> None:
    log = log_at(tmp_path, expected=["eu", "us"])
    with log.writer("us") as us:
        us.note_time(300, NumberPosition(3))
    with log.writer("eu") as eu:
        eu.note_time(400, NumberPosition(4))
    # Its next run notes the next hour.
    assert log.is_complete(300) and not log.is_complete(400)
    assert [writer.writer for writer in log.waiting_for(400)] == ["us"]
    assert log.window(NumberPosition(4)).lower_millis == 300
    with log.writer("us") as us:
        us.note_time(400, NumberPosition(5))
    assert log.is_complete(400)


def test_a_writer_that_has_said_nothing_and_ended_holds_nothing(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    with log.writer("eu") as eu:
        log.writer("us").end()
        eu.note_time(100, NumberPosition(1))
        assert lower(log) == 100


def test_expected_writers_hold_and_others_may_be_ignored(tmp_path: Path) -> None:
    put(
        tmp_path,
        [{"w": "eu", "t": 100, "p": {"number": 1}}, {"w": "x", "t": 5, "p": {"number": 1}}],
    )
    assert lower(log_at(tmp_path, expected=["eu", "us"])) is None
    assert lower(log_at(tmp_path, expected=["eu"])) == 5
    assert lower(log_at(tmp_path, expected="eu", only_expected=True)) == 100
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path, expected=["eu", "us"]).cut_at(1)
    assert refused(error) == ("NO_CUT", "us")


def test_a_writer_that_died_is_left_out_by_the_time_of_the_log(tmp_path: Path) -> None:
    put(
        tmp_path,
        [
            {"w": "dead", "t": 100, "at": 1000, "p": {"number": 5}},
            {"w": "eu", "t": 200, "at": 1000, "p": {"number": 1}},
            {"w": "eu", "t": 900, "at": 61_000, "p": {"number": 9}},
        ],
    )
    minute = timedelta(minutes=1)
    assert lower(log_at(tmp_path, 70_000)) == 100
    assert lower(log_at(tmp_path, 70_000, idle_after=minute)) == 900
    # The log's time does not count beyond the clock: it may be written by a clock that is ahead.
    assert lower(log_at(tmp_path, 60_999, idle_after=minute)) == 100
    assert log_at(tmp_path, 70_000, idle_after=minute).cut_at(900).position == NumberPosition(9)
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path, 70_000).cut_at(900)
    assert refused(error) == ("NO_CUT", "dead")


def test_a_pause_of_everything_leaves_out_nobody_however_long_somebody_watches(
    tmp_path: Path,
) -> None:
    now = [0]
    log = Marks(tmp_path, idle_after=timedelta(milliseconds=10), clock=lambda: now[0])
    eu, us = log.writer("eu"), log.writer("us")
    eu.note_time(100, NumberPosition(1))
    us.note_time(200, NumberPosition(1))
    for now[0] in (0, 9, 10, 10_000):
        assert (
            lower(log)
            == lower(log_at(tmp_path, now[0], idle_after=timedelta(milliseconds=10)))
            == 100
        )
    us.note_time(201, NumberPosition(1))
    assert lower(log) == 201


def test_a_writer_that_repeats_an_old_time_stalls_and_one_that_is_alive_does_not(
    tmp_path: Path,
) -> None:
    lines = [{"w": "eu", "t": 100 + n, "at": n * 60_000, "p": {"number": n}} for n in range(21)]
    lines += [{"w": "us", "t": 50, "at": n * 60_000, "p": {"number": n}} for n in range(21)]
    put(tmp_path, lines)
    log = log_at(tmp_path, 20 * 60_000, idle_after=timedelta(minutes=5))
    assert log.is_complete(120) and log.cut_at(110)
    assert log.window(NumberPosition(20)).lower_millis == 120
    put(tmp_path, [*lines, {"w": "us", "k": "alive", "at": 20 * 60_000}])
    log = log_at(tmp_path, 20 * 60_000, idle_after=timedelta(minutes=5))
    assert not log.is_complete(51)
    assert log.window(NumberPosition(20)).lower_millis == 50


def test_a_time_far_ahead_is_not_believed_until_it_has_come(tmp_path: Path) -> None:
    day = 86_400_000
    now = [0]
    log = Marks(tmp_path, clock=lambda: now[0])
    with log.writer("w") as writer:
        writer.note_time(100, NumberPosition(1))
        assert lower(log) == 100
        writer.note_time(5 * day, NumberPosition(2))
        now[0] = 4 * day - 1
        assert lower(log) == 100
        # A clock that runs back changes nothing.
        now[0] = 0
        assert lower(log) == 100
        now[0] = 4 * day
        assert lower(log) == 5 * day
        assert lower(Marks(tmp_path, max_ahead=None, clock=lambda: 0)) == 5 * day


def test_a_missing_link_holds_a_writer_of_files_and_is_named(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    with log.writer("w") as writer:
        for number in range(1, 600):
            writer.note_time(number, files=[str(number)])
    assert log.cut_at(599).files == frozenset(map(str, range(1, 600)))
    lines = (tmp_path / "w.0.256-511.marks").read_bytes().split(b"\n")
    (tmp_path / "w.0.256-511.marks").write_bytes(b"\n".join([*lines[:44], b"damaged", *lines[45:]]))
    assert lower(log_at(tmp_path)) == 299
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path).cut_at(300)
    assert refused(error) == ("NO_CUT", "w")
    assert log.window(FilesPosition(frozenset(map(str, range(600))))).lower_millis == 299
    # A first file that cannot be read was not purged.
    (tmp_path / "w.0.0-255.marks").write_bytes(b"")
    assert log_at(tmp_path).watermark() is None
    (tmp_path / "w.0.0-255.marks").unlink()
    assert lower(log_at(tmp_path)) == 299


def test_marks_of_the_wrong_kind_are_refused_with_the_writer(tmp_path: Path) -> None:
    put(
        tmp_path,
        [{"w": "eu", "t": 1, "p": {"number": 1}}, {"w": "us", "t": 1, "p": {"sink": {"batch": 1}}}],
    )
    log = log_at(tmp_path)
    for ask in (log.watermark, lambda: log.cut_at(1), lambda: log.window(NumberPosition(1))):
        with pytest.raises(TidemarkError) as error:
            ask()
        assert refused(error) == ("MARK_POSITION_MISMATCH", "us")
    put(tmp_path / "x", [{"t": 1, "p": {"number": 1}}, {"t": 2, "p": {"files": ["a"]}}])
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path / "x").window(NumberPosition(1))
    assert refused(error) == ("MARK_POSITION_MISMATCH", "w")


def test_a_writer_of_the_wrong_kind_is_named_also_after_all_others_have_ended(
    tmp_path: Path,
) -> None:
    ended = [
        {"w": "eu", "t": 100, "p": {"number": 1}},
        {"w": "eu", "k": "end", "p": {"number": 1}},
    ]
    put(tmp_path, ended)
    log = log_at(tmp_path)
    assert log.is_complete(100)
    put(tmp_path, [*ended, {"w": "us", "t": 200, "p": {"kafka": {"t": {"0": 1}}}}])
    with pytest.raises(TidemarkError) as error:
        log.is_complete(200)
    assert refused(error) == ("MARK_POSITION_MISMATCH", "us")


def test_many_writers_are_read_and_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, ({"w": f"w{i}", "t": 100 + i, "p": {"number": i}} for i in range(1200)))
    log = log_at(tmp_path)
    with caplog.at_level(logging.WARNING, "tidemark"):
        assert lower(log) == 100
        assert lower(log) == 100
    assert [record.message for record in caplog.records] == [
        f"The mark log {tmp_path} has 1200 writers"
    ]


def test_a_writer_that_says_it_is_alive_is_waited_for(tmp_path: Path) -> None:
    minute, now = 60_000, [0]
    log = Marks(tmp_path, clock=lambda: now[0], idle_after=timedelta(minutes=5))
    behind, ahead = log.writer("behind"), log.writer("ahead")
    behind.note_time(1, NumberPosition(1))
    for passed in range(12):
        now[0] = passed * minute
        behind.alive()
        ahead.note_time(10 + passed, NumberPosition(10 + passed))
        assert lower(log) == 1


def test_a_read_position_with_partitions_as_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path).window(KafkaPosition({"t": {"0": 1}}))  # type: ignore[dict-item]
    assert error.value.code == "INVALID_OPTION"
