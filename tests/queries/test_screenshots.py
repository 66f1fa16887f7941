"""The tab of Spark's web UI in a real browser. `make screenshots` keeps the pictures for the docs."""

from __future__ import annotations

import os
import shutil
import struct
import zlib
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


def different_rows(picture: Path) -> int:
    """How many different rows of pixels a PNG has."""
    data, at, packed, width = picture.read_bytes(), 8, b"", 0
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width = struct.unpack(">I", body[:4])[0]
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    pixels = zlib.decompress(packed)
    rows = len(pixels) // (width * 3)
    size = len(pixels) // rows
    return len({pixels[row * size : (row + 1) * size] for row in range(rows)})


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_is_not_blank(folder: Path, picture: str) -> None:
    assert different_rows(folder / picture) > 50
