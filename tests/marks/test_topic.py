"""A mark log in a Kafka topic: what is written there, and what a reader takes, without a broker."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.topics import ABORTED, COMMITTED, OPEN, FakeTopic

from tidemark import TidemarkError
from tidemark.marks import FilesPosition, KafkaPosition, Marks, NumberPosition

OPTIONS = {"bootstrap.servers": "nowhere:1", "sasl.password": "hidden"}


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> FakeTopic:
    fake = FakeTopic()
    monkeypatch.setattr("tidemark_marks._locations.KafkaTopic", lambda name, options: fake)
    return fake


def log(stream: str = "/orders", **options: Any) -> Marks:
    options.setdefault("clock", lambda: 1000)
    return Marks(f"kafka:marks{stream}", options=OPTIONS, **options)


def mark(writer: str = "w", epoch: int = 1000, number: int = 0, **fields: Any) -> bytes:
    known = {"v": 1, "w": writer, "e": epoch, "n": number, "k": "note", "t": 1, "at": 5}
    return json.dumps({**known, "p": {"number": 1}, **fields}).encode()


def key(writer: str = "w", stream: str = "orders") -> bytes:
    return f"{stream}\0{writer}".encode()


def test_a_mark_is_a_record_with_the_stream_and_the_writer_as_its_key(topic: FakeTopic) -> None:
    log().writer("w").note_time(7, KafkaPosition({"orders": {0: 3}}))
    (records,) = [part for part in topic.partitions if part]
    assert {record.key for record in records} == {b"orders\0w"}
    claim, alive, note = (json.loads(record.value or b"") for record in records)
    assert (claim["k"], claim["e"], claim["w"]) == ("claim", 1000, "w")
    assert alive == {"v": 1, "w": "w", "e": 1000, "n": 0, "k": "alive", "at": 1000}
    assert records[2].value == (
        b'{"v":1,"w":"w","e":1000,"n":1,"k":"note","t":7,"at":1000,"p":{"kafka":{"orders":{"0":3}}}}'
    )
    assert note["n"] == 1


def test_readers_find_what_writers_have_noted(topic: FakeTopic) -> None:
    with log().writer("a") as first, log().writer("b") as other:
        first.note_time(7, NumberPosition(3))
        other.note_time(9, NumberPosition(4))
        reader = log(expected=["a", "b"])
        assert reader.is_complete(7) and not reader.is_complete(8)
        assert reader.cut_at(7).position == NumberPosition(4)
        assert reader.window(NumberPosition(3)).upper_millis is None
        first.end()
    assert {mark.kind for mark in log().read().marks} == {"alive", "note", "end"}


def test_streams_of_one_topic_are_apart(topic: FakeTopic) -> None:
    log("/orders").writer("w").note_time(7, NumberPosition(3))
    log("/orders2").writer("w").note_time(70, NumberPosition(3))
    log("").writer("w").note_time(700, NumberPosition(3))
    assert [log(name).is_complete(8) for name in ("/orders", "/orders2", "")] == [False, True, True]
    assert log("/orders/eu").watermark() is None


def test_a_reading_goes_on_where_the_one_before_has_ended(topic: FakeTopic) -> None:
    writer, reader = log().writer("w"), log()
    writer.note_time(7, NumberPosition(3))
    assert reader.is_complete(7)
    writer.note_time(8, NumberPosition(4))
    topic.given = 0
    assert reader.is_complete(8)
    assert topic.given == 1


def test_a_topic_that_was_made_anew_is_read_from_its_beginning(topic: FakeTopic) -> None:
    writer, reader = log().writer("w"), log()
    writer.note_time(7, NumberPosition(3))
    assert reader.is_complete(7)
    topic.partitions = [[], []]
    topic.put(key("v"), mark("v", t=5))
    assert [mark.writer for mark in reader.read().marks] == ["v"]


def test_a_later_life_fences_an_earlier_one_whose_client_uses_another_partition(
    topic: FakeTopic,
) -> None:
    topic.chooses = lambda _: 0
    old = log().writer("w")
    old.note_time(7, NumberPosition(3))
    topic.chooses = lambda _: 1
    new = log().writer("w")
    assert new.epoch > old.epoch
    topic.chooses = lambda _: 0
    with pytest.raises(TidemarkError) as error:
        old.note_time(99, NumberPosition(9))
    assert error.value.code == "MARK_WRITER_FENCED"
    assert not log().is_complete(8)
    new.note_time(8, NumberPosition(4))
    assert log().is_complete(8) and not log().is_complete(9)


def test_two_lives_that_want_one_epoch_at_once_get_different_ones(topic: FakeTopic) -> None:
    met: list[Any] = []

    def meet() -> None:
        # When the first life has written its claim, and has not read yet, a second one begins.
        if len(topic.values()) == 1 and not met:
            met.append(None)
            rival = topic.values()[0].replace(b'"id":"', b'"id":"another')
            topic.put(key(), rival)

    topic.before_ends = meet
    writer = log().writer("w")
    assert met
    assert writer.epoch > 1000


def test_a_life_goes_on_from_what_the_last_one_has_noted(topic: FakeTopic) -> None:
    first = log().writer("w")
    first.note_time(7, NumberPosition(3))
    first.close()
    second = log().writer("w")
    with pytest.raises(TidemarkError) as error:
        second.note_time(6, NumberPosition(3))
    assert error.value.code == "MARK_GOES_BACK"
    begun = log().read().marks[-1]
    assert begun.after == (first.epoch, 1)


def test_a_mark_that_could_not_be_sent_is_sent_with_the_next_one(topic: FakeTopic) -> None:
    writer = log().writer("w")
    topic.is_down = True
    with pytest.raises(TidemarkError) as error:
        writer.note_time(7, NumberPosition(3))
    assert error.value.code == "MARK_NOT_WRITTEN"
    with pytest.raises(TidemarkError) as unread:
        log().watermark()
    assert unread.value.code == "MARK_LOG_NOT_READ"
    topic.is_down = False
    writer.note_time(8, NumberPosition(4))
    assert [mark.time_millis for mark in log().read().marks] == [None, 7, 8]


def test_a_mark_that_the_topic_does_not_take_is_forgotten(topic: FakeTopic) -> None:
    writer = log().writer("w")
    topic.most = 300
    with pytest.raises(TidemarkError) as error:
        writer.note_time(7, files=[f"a file with a long name {n}" for n in range(20)])
    assert error.value.code == "MARK_TOO_LONG"
    writer.note_time(8, files=["short"])
    assert log().is_complete(8)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "json"),
        (b"", "json"),
        (b'{"v":1,"w":"w","e":1', "json"),
        (b"x" * (2 << 20), "long"),
        (mark(v=2), "version"),
        (mark(writer="v"), "writer"),
        (mark(k="shout"), "k"),
        (mark(k="claim", e="soon"), "k"),
        (mark(p={"moon": 1}), "p"),
    ],
)
def test_a_record_that_cannot_be_used_is_left_out_and_named(
    topic: FakeTopic, value: bytes | None, reason: str
) -> None:
    topic.chooses = lambda _: 1
    topic.put(key(), value)
    topic.put(key(), mark(number=1, t=7))
    found = log().read()
    assert [(line.file, line.line, line.reason) for line in found.skipped] == [
        ("marks-1", 0, reason)
    ]
    assert log().is_complete(7)


@pytest.mark.parametrize("value", [b"torn", mark(v=2, e=3)])
def test_a_writer_of_which_no_record_can_be_used_holds(topic: FakeTopic, value: bytes) -> None:
    log().writer("v").note_time(7, position=NumberPosition(1))
    topic.put(key(), value)
    assert log().watermark() is None
    assert not log().is_complete(7)


def test_a_writer_has_not_ended_if_its_newest_record_cannot_be_used(topic: FakeTopic) -> None:
    topic.chooses = lambda _: 0
    with log().writer("v") as other:
        other.note_time(9, position=NumberPosition(1))
    writer = log().writer("w")
    writer.note_time(7, position=NumberPosition(1))
    writer.end()
    epoch = log().read().marks[-1].epoch
    assert log().is_complete(9)
    topic.put(key(), mark(v=2, e=epoch - 1))
    assert log().is_complete(9), "a later life has ended since"
    topic.put(key(), None)
    assert log().is_complete(9), "no value is not a mark"
    topic.put(key(), mark(v=2, e=epoch))
    assert not log().is_complete(9)
    log().writer("w").end()
    assert log().is_complete(9)


def test_records_of_no_stream_are_named(topic: FakeTopic) -> None:
    for key in (None, b"", b"orders", b"orders\0\xff"):
        topic.put(key, mark())
    assert [line.reason for line in log().read().skipped] == ["key"] * 4
    assert log().watermark() is None


@pytest.mark.parametrize("is_first", [True, False])
def test_files_wait_for_a_mark_that_cannot_be_read(topic: FakeTopic, is_first: bool) -> None:
    """The record may list files that have not been read."""
    topic.chooses = lambda _: 0
    if is_first:
        topic.put(key(), b"torn")
        writer = log().writer("w")
    else:
        first = log().writer("w")
        first.note_time(7, files=["a"])
        first.close()
        topic.put(key(), b"torn")
        writer = log().writer("w")
    writer.note_time(8, files=["b"])
    lower = log().window(FilesPosition(frozenset({"a", "b"}))).lower_millis
    assert lower == (None if is_first else 7)


def test_a_record_that_cannot_be_read_between_two_marks_does_no_harm_if_none_is_missing(
    topic: FakeTopic,
) -> None:
    topic.chooses = lambda _: 0
    writer = log().writer("w")
    writer.note_time(7, files=["a"])
    topic.put(key(), b"torn")
    writer.note_time(8, files=["b"])
    assert log().window(FilesPosition(frozenset({"a", "b"}))).lower_millis == 8


def test_marks_behind_an_open_transaction_are_read_when_it_has_ended(topic: FakeTopic) -> None:
    topic.chooses = lambda _: 0
    writer, reader = log().writer("w"), log()
    writer.note_time(7, NumberPosition(3))
    other = topic.put(key("other", "returns"), mark("other"), OPEN)
    writer.note_time(8, NumberPosition(4))
    assert reader.is_complete(7) and not reader.is_complete(8)
    other.state = ABORTED
    assert reader.is_complete(8)


def test_a_writer_is_open_when_readers_see_it(topic: FakeTopic) -> None:
    topic.chooses = lambda _: 0
    others: list[Any] = []
    asked = 0

    def transaction() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:  # the claim has been written, and the first mark has not
            others.append(topic.put(key("other", "returns"), mark("other"), OPEN))
        elif asked == 8:
            others[0].state = ABORTED

    topic.before_ends = transaction
    log().writer("w")
    assert asked == 8
    assert [mark.writer for mark in log().read().marks] == ["w"]


@pytest.mark.parametrize("state", [COMMITTED, ABORTED])
def test_a_new_life_waits_for_a_mark_in_an_open_transaction(topic: FakeTopic, state: str) -> None:
    topic.chooses = lambda _: 0
    old = log().writer("w")
    old.note_time(7, NumberPosition(3))
    pending = topic.put(key(), mark(number=2, t=9), OPEN)
    asked: list[int] = []

    def end() -> None:
        asked.append(1)
        if len(asked) == 6:
            pending.state = state

    topic.before_ends = end
    log().writer("w")
    begun = log().read().marks[-1]
    assert begun.after == (old.epoch, 2 if state == COMMITTED else 1)
    assert log().is_complete(9) == (state == COMMITTED)


def test_a_topic_that_does_not_keep_marks_is_refused(topic: FakeTopic) -> None:
    topic.problem = "topic 'marks' has cleanup.policy=compact"
    with pytest.raises(TidemarkError) as error:
        log().writer("w")
    assert error.value.code == "MARK_NOT_WRITTEN"
    assert error.value.parameters["reason"] == topic.problem


def test_the_largest_epoch_cannot_be_followed(topic: FakeTopic) -> None:
    topic.put(key(), mark(epoch=2**63 - 1))
    with pytest.raises(TidemarkError) as error:
        log().writer("w")
    assert error.value.code == "MARK_NOT_WRITTEN"


@pytest.mark.parametrize(
    ("location", "options", "option"),
    [
        ("kafka:", OPTIONS, "location"),
        ("kafka:with space", OPTIONS, "location"),
        ("kafka:marks/", OPTIONS, "location"),
        ("kafka:marks/a\0b", OPTIONS, "location"),
        ("kafka:marks", None, "options"),
        ("kafka:marks", {"sasl.password": "hidden"}, "options"),
        ("/lake/_tidemark", OPTIONS, "options"),
    ],
)
def test_a_location_that_cannot_be_used_is_refused(
    location: str, options: Any, option: str
) -> None:
    with pytest.raises(TidemarkError) as error:
        Marks(location, options=options)
    assert error.value.code == "INVALID_OPTION"
    assert error.value.parameters["option"] == option
    assert "hidden" not in str(error.value)


def test_a_topic_removes_old_marks_itself(topic: FakeTopic) -> None:
    with pytest.raises(TidemarkError) as error:
        log().purge(5)
    assert error.value.code == "INVALID_OPTION"
