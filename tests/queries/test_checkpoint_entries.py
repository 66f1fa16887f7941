"""An unreadable checkpoint entry raises an error that names the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.feeds import Feed
from support.streams import refusal, run_once

from tidemark import with_watermark


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def turned(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


def of_tomorrow(data: bytes) -> bytes:
    # The version follows the eight letters of the format's name.
    return data[:8] + bytes([99]) + data[9:]


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda _: b"", "CHECKPOINT_ENTRY_EMPTY"),
        (lambda _: b"something else", "CHECKPOINT_ENTRY_DAMAGED"),
        (cut, "CHECKPOINT_ENTRY_DAMAGED"),
        (turned, "CHECKPOINT_ENTRY_DAMAGED"),
        (of_tomorrow, "CHECKPOINT_ENTRY_NEWER"),
    ],
)
def test_an_unreadable_checkpoint_entry_stops_the_restart(
    feed: Callable[..., Feed], tmp_path: Path, spoil: Callable[[bytes], bytes], code: str
) -> None:
    events = feed("events", "id LONG, time TIMESTAMP")
    df = with_watermark(events.stream(), "time", "1 minute", key="events")
    events.add({"id": 1, "time": "10:00"})
    run_once(df, tmp_path / "cp")

    newest = max((tmp_path / "cp" / "tidemark").glob("[0-9]*"), key=lambda path: int(path.name))
    newest.write_bytes(spoil(newest.read_bytes()))
    # Otherwise the file system's own checksum would fail first.
    (newest.parent / f".{newest.name}.crc").unlink(missing_ok=True)

    events.add({"id": 2, "time": "10:05"})
    found, text = refusal(lambda: run_once(df, tmp_path / "cp"))
    assert found == code
    assert f"tidemark/{newest.name}" in text
