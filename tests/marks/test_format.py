"""The lines of a mark log: their bytes, and what is done with lines that are not as they should be."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from support.marks import line, log_at, put
from support.marks_vectors import FOLDER
from support.raising import raising

from tidemark.marks import (
    DeltaPosition,
    FilesPosition,
    KafkaPosition,
    Mark,
    NumberPosition,
    SinkBatchPosition,
)
from tidemark_marks._protocol import names
from tidemark_marks._protocol.position import MOST, Position, decode_position, encode_position
from tidemark_marks._protocol.text import UnusableError, checked, decode, encode

PAGE = Path(__file__).parents[2] / "docs" / "noted-time" / "format.md"
REFUSED = FOLDER / "refused-marks.json"
"""Fields that make a mark unusable, and the reason; the engine's tests read the same file."""
EXAMPLE = (
    b'6551a15c {"v":1,"w":"gateway-7","e":1795404000000,"n":17,"k":"note","t":1795404060000,'
    b'"at":1795404061234,"p":{"kafka":{"orders":{"0":23,"1":42}}}}\n'
)
KAFKA = KafkaPosition({"orders": {0: 23, 1: 42}})


def mark(position: Position | None = KAFKA, **fields: object) -> Mark:
    text = None if position is None else encode_position(position)
    whole = Mark("gateway-7", 1795404000000, 17, "note", 1795404060000, 1795404061234, text)
    return whole._replace(**fields)  # type: ignore[arg-type]


def test_a_mark_has_the_bytes_of_the_example_on_the_page() -> None:
    assert encode(mark()) == EXAMPLE
    assert decode(checked(EXAMPLE[:-1])) == mark()
    assert EXAMPLE.decode().strip() in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (KafkaPosition({"b": {10: 1, 2: 0}, "a": {}}), '{"kafka":{"a":{},"b":{"2":0,"10":1}}}'),
        (DeltaPosition("x-1", 12), '{"delta":{"id":"x-1","version":12}}'),
        (SinkBatchPosition(7), '{"sink":{"batch":7}}'),
        (FilesPosition(frozenset({"b/ü.json", "a"})), '{"files":["a","b/ü.json"]}'),
        (NumberPosition(-7), '{"number":-7}'),
    ],
)
def test_every_kind_of_position_has_one_text(position: Position, text: str) -> None:
    assert encode_position(position) == text
    assert decode_position(text) == position


def test_marks_of_any_shape_are_read_as_they_were_written() -> None:
    chance = random.Random(7)
    for _ in range(2000):
        written = random_mark(chance)
        assert decode(checked(encode(written)[:-1])) == written


def random_mark(chance: random.Random) -> Mark:
    def number(least: int = 0) -> int:
        return chance.choice([least, 0, 7, chance.randrange(10**12), MOST])

    positions: list[Position] = [
        KafkaPosition({chance.choice(["orders", "a.b-c_1", "ü"]): {number() % 2**31: number()}}),
        DeltaPosition(chance.choice(["t", 'a"b']), number()),
        SinkBatchPosition(number()),
        FilesPosition(frozenset(chance.sample(["a b.json", "x/y", "ü", 'q"', "back\\slash"], 2))),
        NumberPosition(number(-MOST)),
    ]
    kind = chance.choice(["note", "alive", "idle", "end"])
    has_time = kind == "note" or (kind != "alive" and chance.random() < 0.5)
    has_position = kind == "note" or chance.random() < 0.5
    return Mark(
        chance.choice(["gateway-7", "ü", 'a"b\\', "x" * 160]),
        number(),
        number(),
        kind,  # type: ignore[arg-type]
        number(-MOST - 1) if has_time else None,
        number(),
        encode_position(chance.choice(positions)) if has_position else None,
        chance.choice([None, number(-MOST)]),
        chance.choice([None, (number(), number())]),
    )


TOO_MANY = [
    ({"p": {"files": [f"f{i}" for i in range(10_001)]}}, "p"),
    ({"p": {"kafka": {"t": {str(i): 1 for i in range(10_001)}}}}, "p"),
]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [(vector["changes"], vector["reason"]) for vector in json.loads(REFUSED.read_text("utf-8"))]
    + TOO_MANY,
)
def test_a_mark_with_a_wrong_field_is_refused(changes: dict[str, object], reason: str) -> None:
    fields = {**json.loads(EXAMPLE[9:]), **changes}
    body = json.dumps(fields).encode("utf-8", "surrogatepass")
    with pytest.raises(UnusableError, match=f"^{reason}$"):
        decode(body)


@pytest.mark.parametrize(
    "body",
    [b"", b"7", b"[" * 100_000, b'{"v":1', b"\xff", b"\xef\xbb\xbf{}", b'{"v":NaN}', b"{}{}"],
)
def test_a_line_that_is_not_an_object_is_refused(body: bytes) -> None:
    with pytest.raises(UnusableError):
        decode(body)


def test_unknown_fields_are_skipped(tmp_path: Path) -> None:
    put(tmp_path, [{"t": 7, "p": {"number": 1}, "in": ["{}"], "later": {"x": 1.5}}])
    (found,) = log_at(tmp_path).read().marks
    assert (found.time_millis, found.position) == (7, NumberPosition(1))


def test_a_line_of_two_megabytes_is_left_out_and_the_next_one_is_read(tmp_path: Path) -> None:
    long = line('{"v":1,"w":"w","pad":"' + "x" * 2_000_000 + '"}')
    good = line({"v": 1, "w": "w", "e": 1, "n": 1, "k": "alive", "at": 0})
    (tmp_path / "w.1.0.marks").write_text(long + good)
    (tmp_path / "w.1.1.marks").write_text("y" * 3_000_000)
    read = log_at(tmp_path).read()
    assert [(line.file, line.line, line.reason) for line in read.skipped] == [
        ("w.1.0.marks", 1, "long"),
        ("w.1.1.marks", 1, "long"),
    ]
    assert len(read.marks) == 1


def test_a_file_cut_anywhere_gives_its_whole_lines(tmp_path: Path) -> None:
    lines = [encode(mark(number=n)) for n in range(10, 13)]
    name = "gateway-7.1795404000000.0.marks"
    for length in range(len(b"".join(lines)) + 1):
        (tmp_path / name).write_bytes(b"".join(lines)[:length])
        read = log_at(tmp_path).read()
        assert len(read.marks) == length // len(EXAMPLE)
        assert [line.reason for line in read.skipped] == ["torn"] * (length % len(EXAMPLE) > 0)


@pytest.mark.parametrize(
    "writer", ["gateway-7", "eu west/1", "ü.5.0", "..", "%41", "\n", "a" * 160]
)
def test_the_names_of_files_lead_back_to_their_writer(writer: str) -> None:
    for name in (names.FileName(writer, 5, slot=1), names.FileName(writer, 5, first=0, last=255)):
        assert re.fullmatch(r"[A-Za-z0-9_%-]+\.5\.(1|0-255)\.marks", name.text)
        assert len(name.text) < 240
        assert names.parse(name.text) == name


@pytest.mark.parametrize(
    "name",
    [
        "w.1.2.marks", "w.1.0.marks.tmp", ".w.1.0.marks", "w.01.0.marks", "w.-1.0.marks", "w.0.marks",
        "w.1.0-.marks", "%41.1.0.marks", "%c3%bc.1.0.marks", "%C3.1.0.marks", "ü.1.0.marks", "w.1.0.marks\n",
        ".1.0.marks", "a/w.1.0.marks", "w.99999999999999999999.0.marks",
    ],
)  # fmt: skip
def test_files_of_other_names_are_passed_over(name: str) -> None:
    assert names.parse(name) is None


@pytest.mark.parametrize("writer", ["", "a" * 161, "ü" * 30, "\ud800", None, 7])
def test_a_writer_whose_name_cannot_be_a_file_is_refused(writer: object, tmp_path: Path) -> None:
    with raising("INVALID_OPTION", option="writer", value=writer):
        log_at(tmp_path).writer(writer)  # type: ignore[call-overload]
    assert list(tmp_path.iterdir()) == []
