"""Cuts of a mark log: what each reader takes, and how a position is compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.marks import no_sync

from tidemark import TidemarkError
from tidemark.marks import (
    Cut,
    DeltaPosition,
    FilesPosition,
    KafkaPosition,
    Marks,
    NumberPosition,
    SinkBatchPosition,
)

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
        with pytest.raises(TidemarkError, match="MARK_POSITION_MISMATCH"):
            ask()
    for text in ("", "{}", "7", '{"kafka":1}'):
        with pytest.raises(TidemarkError, match="INVALID_OPTION"):
            Cut.from_text(text)


def test_where_no_cut_is_stored_there_is_none() -> None:
    assert Cut.from_text(None) is None


def test_a_cut_is_compared_as_in_pravega() -> None:
    cut = Cut(KafkaPosition({"t": {0: 10, 1: 10}}))
    for offsets, order in [((10, 10), 1), ((11, 10), 1), ((9, 10), -1), ((9, 11), 0)]:
        assert cut.compare(KafkaPosition({"t": dict(enumerate(offsets))})) == order
    assert cut.compare(KafkaPosition({"t": {0: 10}})) == -1
    files = Cut(FilesPosition(frozenset("ab")))
    for read, order in [("ab", 1), ("abc", 1), ("a", -1), ("ac", 0)]:
        assert files.compare(FilesPosition(frozenset(read))) == order
    assert Cut(DeltaPosition("x", 5)).compare(DeltaPosition("x", 5)) == 1
    assert Cut(SinkBatchPosition(5)).compare(SinkBatchPosition(4)) == -1
    assert Cut(NumberPosition(5)).compare(NumberPosition(6)) == 1
    for other in (DeltaPosition("y", 5), SinkBatchPosition(5)):
        with pytest.raises(TidemarkError, match="MARK_POSITION_MISMATCH"):
            Cut(DeltaPosition("x", 5)).compare(other)


def test_the_cut_has_the_rows_of_a_writer_that_ended_without_a_time(tmp_path: Path) -> None:
    log = Marks(tmp_path)
    silent = log.writer("silent")
    silent.end(KafkaPosition({"orders": {0: 500}}))
    log.writer("eu").note_time(10, KafkaPosition({"orders": {0: 300}}))
    found = log.watermark()
    assert found is not None
    assert found.cut.kafka_offsets == log.cut_at(10).kafka_offsets
