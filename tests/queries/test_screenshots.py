"""The tab of Spark's web UI in a real browser. `make screenshots` keeps the pictures for the docs."""

from __future__ import annotations

import os
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.processes import run_script

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.engine,
    pytest.mark.docs,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine"),
]
PICTURES = ("ui-queries.png", "ui-query.png", "ui-query-dark.png")
SENTENCE = "Nothing comes out: aggregation #"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("screenshots")


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = run_script("screenshots.py", str(folder), str(BROWSER))["pages"]
    if kept := os.environ.get("TIDEMARK_SCREENSHOTS"):
        for picture in PICTURES:
            shutil.copy(folder / picture, kept)
    return found


@pytest.mark.parametrize("page", ["list", "light", "dark"])
def test_a_browser_shows_the_sentence_and_refuses_nothing(pages: dict[str, Any], page: str) -> None:
    shown, complaints = pages[page]
    assert SENTENCE in shown
    for word in ("Refused to", "Content Security Policy", "Uncaught"):
        assert word not in complaints


def pixels(picture: Path) -> list[bytes]:
    """The rows of a PNG, each three bytes for a pixel: what PNG calls filters is undone."""
    data, at, packed, width = picture.read_bytes(), 8, b"", 0
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width = struct.unpack(">I", body[:4])[0]
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    packed, size = zlib.decompress(packed), width * 3 + 1
    above, rows = bytes(size + 2), []
    for start in range(0, len(packed), size):
        # Three bytes before the first pixel stand for the one to its left.
        row = bytearray(3) + packed[start + 1 : start + size]
        undo = FILTERS[packed[start]]
        for x in range(3, len(row)):
            row[x] = (row[x] + undo(row[x - 3], above[x], above[x - 3])) & 255
        above = bytes(row)
        rows.append(above[3:])
    return rows


def paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda near: abs(guess - near))


# What is added to a byte, by the number of the filter.
FILTERS: list[Callable[[int, int, int], int]] = [
    lambda *_: 0,
    lambda left, *_: left,
    lambda _, above, __: above,
    lambda left, above, _: (left + above) // 2,
    paeth,
]


@pytest.fixture(scope="module")
def drawn(folder: Path, pages: dict[str, Any]) -> dict[str, list[bytes]]:
    assert pages
    return {picture: pixels(folder / picture) for picture in PICTURES}


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_is_not_blank(drawn: dict[str, list[bytes]], picture: str) -> None:
    assert len(set(drawn[picture])) > 50


def test_a_reader_of_dark_pages_gets_a_dark_one(drawn: dict[str, list[bytes]]) -> None:
    def brightness(picture: str) -> float:
        every = b"".join(drawn[picture])
        return sum(every) / len(every)

    assert brightness("ui-query-dark.png") < brightness("ui-query.png") - 50
