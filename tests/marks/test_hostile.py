"""What others may put into the folder of a mark log: it costs a reader neither its life nor its memory."""

from __future__ import annotations

import os
import socket
import tracemalloc
from pathlib import Path

import pytest
from support.marks import code_of, line, log_at, lower, no_sync, put
from support.topics import FakeTopic

from tidemark import TidemarkError
from tidemark.marks import Marks, NumberPosition
from tidemark_marks._writing import past

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


@pytest.mark.timeout(20)
def test_a_pipe_and_a_socket_are_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, [{"t": 100, "p": {"number": 1}}])
    os.mkfifo(tmp_path / "w.1.1.marks")
    os.mkfifo(tmp_path / "w.1.9-9.marks")
    # The path of a socket must be short.
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("v.1.0.marks")
        assert lower(log_at(tmp_path)) == 100
        log_at(tmp_path).writer("v").close()


@pytest.mark.timeout(20)
def test_a_pipe_in_the_place_of_a_temporary_file_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".w.0.1.marks.0.tmp")
    with pytest.raises(TidemarkError) as error:
        log_at(tmp_path).writer("w")
    assert code_of(error) == "MARK_NOT_WRITTEN"


def test_lines_that_cannot_be_used_are_counted_and_the_first_ones_are_kept(tmp_path: Path) -> None:
    mark = line({"v": 1, "w": "w", "e": 1, "n": 0, "k": "alive", "at": 0})
    (tmp_path / "w.1.0.marks").write_text(mark + "\n" * (1 << 17))
    tracemalloc.start()
    read = log_at(tmp_path).read()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (read.skipped_count, len(read.skipped), len(read.marks)) == (1 << 17, 1000, 1)
    assert [skipped.line for skipped in read.skipped] == list(range(2, 1002))
    # A line that is kept as an object takes some 200 bytes.
    assert most < 8 << 20


def test_records_that_cannot_be_used_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = FakeTopic()
    monkeypatch.setattr("tidemark_marks._locations.KafkaTopic", lambda name, options: topic)
    log = Marks("kafka:marks/orders", options={"bootstrap.servers": "nowhere:1"})
    for number in range(700):
        topic.put(b"orders\0w", b"torn")
        topic.put(b"of no stream", b"%d" % number)
    read = log.read()
    assert (read.skipped_count, len(read.skipped)) == (1400, 1000)


def test_a_writer_looks_at_its_own_names_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("w.1.0.marks", "w2.1.0.marks", "%2E.1.0.marks", "v.1.0-9.marks"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / ".w.1.0.marks.1.tmp").write_bytes(b"left")
    (tmp_path / ".w2.1.0.marks.1.tmp").write_bytes(b"left")
    parsed: list[str] = []
    parse = past.parse
    monkeypatch.setattr(past, "parse", lambda name: parsed.append(name) or parse(name))
    writer = log_at(tmp_path).writer("w")
    writer.note_time(1, NumberPosition(1))
    assert writer.epoch == 2
    assert {name.split(".")[0] for name in parsed} == {"w"}
    assert [file.name for file in tmp_path.glob(".*")] == [".w2.1.0.marks.1.tmp"]
