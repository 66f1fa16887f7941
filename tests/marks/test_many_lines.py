"""Files with millions of lines that are too short for a mark: they are counted, and cost nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.marks import complete, line, log_at, put

from tidemark.marks import Mark
from tidemark_marks._protocol.files import Folder
from tidemark_marks._protocol.names import FileName
from tidemark_marks._protocol.text import UnusableError
from tidemark_marks._reading import log
from tidemark_marks._reading.log import _mark, read_lines


def test_millions_of_empty_lines_are_counted_and_not_looked_at_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[object] = []

    def mark(line: bytes | str, name: FileName) -> Mark:
        looked_at.append(line)
        return _mark(line, name)

    monkeypatch.setattr(log, "_mark", mark)
    put(tmp_path, [{"k": "alive"}])
    file = tmp_path / "w.1.0.marks"
    whole = file.read_bytes()
    file.write_bytes(b"\n" * (4 << 20) + whole + b"\r\n" * 1000)
    found = log_at(tmp_path).read()
    assert [mark.kind for mark in found.marks] == ["alive"]
    assert found.skipped_count == (4 << 20) + 1000
    assert [skipped.line for skipped in found.skipped] == list(range(1, 1001))
    assert {skipped.reason for skipped in found.skipped} == {"checksum"}
    # The first line of each piece of the file, and the mark.
    assert len(looked_at) < 20


@pytest.mark.parametrize("seed", range(20))
def test_short_lines_between_marks_have_the_numbers_and_reasons_of_lines_that_are_read_singly(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr("tidemark_marks._protocol.files._CHUNK", chance.choice([7, 64, 1 << 20]))
    short = [b"", b"\r", b"12345678", b"00000000 ", b"what is this", b"\xff" * 9]
    marks = [
        line({**mark, "n": n}).encode()[:-1]
        for n, mark in enumerate(complete([{"k": "alive"}] * 9))
    ]
    lines = [chance.choice([*short, *marks]) for _ in range(200)]
    (tmp_path / "w.1.0.marks").write_bytes(b"\n".join(lines) + b"\n")
    found = log_at(tmp_path).read()
    name = FileName("w", 1, slot=0)
    expected = []
    for number, text in enumerate(lines, start=1):
        try:
            _mark(text, name)
        except UnusableError as problem:
            expected.append((number, str(problem)))
    assert [(skipped.line, skipped.reason) for skipped in found.skipped] == expected
    assert found.skipped_count == len(expected)
    known = [number for number, text in enumerate(lines) if text in marks]
    read = read_lines(Folder(str(tmp_path)), name)
    assert [text + b"\n" for text in lines if text in marks] == [text for _, text in read.marks]
    assert (read.lost_before, read.lost_behind) == (
        (known[0], len(lines) - known[-1] - 1) if known else (len(lines), len(lines))
    )
