"""Cuts of a mark log: what each reader takes, and how a position is compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.marks import no_sync
from support.raising import raising

from tidemark.marks import (
    Cut,
    DeltaPosition,
    FilesPosition,
    KafkaPosition,
    Marks,
    NumberPosition,
    SinkBatchPosition,
)
from tidemark_marks._protocol.position import Position

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


def test_a_cut_has_what_each_reader_takes(tmp_path: Path) -> None:
    kafka = Cut(KafkaPosition({"b": {1: 2, 0: 1}, "a": {}}))
    assert kafka.kafka_offsets == '{"a":{},"b":{"0":1,"1":2}}'
    assert Cut(DeltaPosition("x", 7)).delta_version == 7
    assert Cut(FilesPosition(frozenset("ab"))).files == {"a", "b"}
    for cut in (kafka, Cut(SinkBatchPosition(1)), Cut(FilesPosition(frozenset("ab")))):
        assert Cut.from_text(cut.text) == cut
    for ask in (
        lambda: kafka.delta_version,
        lambda: kafka.files,
        lambda: Cut(SinkBatchPosition(1)).kafka_offsets,
    ):
        with raising("MARK_POSITION_MISMATCH"):
            ask()
    for text in ("", "{}", "7", '{"kafka":1}'):
        with raising("INVALID_OPTION", option="text", value=text):
            Cut.from_text(text)


def test_where_no_cut_is_stored_there_is_none() -> None:
    assert Cut.from_text(None) is None


def test_a_cut_says_whether_it_is_read_and_whether_it_has_all_that_is_read() -> None:
    def answers(cut: Cut, read: Position) -> tuple[bool, bool]:
        return cut.is_read(read), cut.contains(read)

    cut = Cut(KafkaPosition({"t": {0: 10, 1: 10}}))
    for offsets, expected in (
        ((10, 10), (True, True)),
        ((11, 10), (True, False)),
        ((9, 10), (False, True)),
        ((9, 11), (False, False)),
    ):
        assert answers(cut, KafkaPosition({"t": dict(enumerate(offsets))})) == expected
    assert answers(cut, KafkaPosition({"t": {0: 10}})) == (False, True)
    # A partition that the cut does not name is cut at its beginning.
    assert answers(cut, KafkaPosition({"t": {0: 10, 1: 10, 2: 0}})) == (True, True)
    assert answers(cut, KafkaPosition({"t": {0: 10, 1: 10, 2: 1}})) == (True, False)
    files = Cut(FilesPosition(frozenset("ab")))
    for read, expected in (
        ("ab", (True, True)),
        ("abc", (True, False)),
        ("a", (False, True)),
        ("ac", (False, False)),
    ):
        assert answers(files, FilesPosition(frozenset(read))) == expected
    assert answers(Cut(DeltaPosition("x", 5)), DeltaPosition("x", 5)) == (True, True)
    assert answers(Cut(SinkBatchPosition(5)), SinkBatchPosition(4)) == (False, True)
    assert answers(Cut(NumberPosition(5)), NumberPosition(6)) == (True, False)
    for other in (DeltaPosition("y", 5), SinkBatchPosition(5)):
        for ask in (Cut(DeltaPosition("x", 5)).is_read, Cut(DeltaPosition("x", 5)).contains):
            with raising("MARK_POSITION_MISMATCH", position="delta"):
                ask(other)


def test_the_cut_has_the_rows_of_a_writer_that_ended_without_a_time(tmp_path: Path) -> None:
    log = Marks(tmp_path)
    silent = log.writer("silent")
    silent.end(KafkaPosition({"orders": {0: 500}}))
    log.writer("eu").note_time(10, KafkaPosition({"orders": {0: 300}}))
    found = log.watermark()
    assert found is not None
    assert found.cut.kafka_offsets == log.cut_at(10).kafka_offsets
