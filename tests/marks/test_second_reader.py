"""A second reader of mark logs, written from docs/noted-time/format.md alone: the page is enough.

It shares no code with the package. It reads Kafka positions and files, and gives the lower bound of
a position's time window.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from support import marks_model
from support.marks import log_at, no_sync

from tidemark.marks import FilesPosition, KafkaPosition


def lower_bound(folder: Path, read: dict[str, Any]) -> int | None:
    lives: dict[str, dict[int, dict[int, dict[str, Any]]]] = {}
    first: dict[str, tuple[int, int]] = {}
    for file in folder.iterdir():
        name = re.fullmatch(r"([\w%-]+)\.(\d+)\.(?:[01]|(\d+)-\d+)\.marks", file.name, re.ASCII)
        if name is None:
            continue
        writer, epoch = unquote_to_bytes(name[1]).decode(), int(name[2])
        if name[3]:
            first[writer] = min(first.get(writer, (epoch, int(name[3]))), (epoch, int(name[3])))
        for line in file.read_bytes().split(b"\n")[:-1]:
            if line[:9] == b"%08x " % zlib.crc32(line[9:]):
                mark = json.loads(line[9:])
                if (mark["v"], mark["w"], mark["e"]) == (1, writer, epoch):
                    lives.setdefault(writer, {}).setdefault(epoch, {})[mark["n"]] = mark
    clocks: list[int | None] = []
    for writer, epochs in lives.items():
        chain: list[dict[str, Any]] = []
        fence: list[int] = [2**63, 0]
        for epoch in sorted(epochs, reverse=True):
            kept = [epochs[epoch][n] for n in sorted(epochs[epoch]) if [epoch, n] <= fence]
            chain = kept + chain
            if kept:
                fence = min([mark["after"] for mark in kept if "after" in mark], default=[-1, 0])
        earliest = min(
            first.get(writer, (2**63, 0)), min((e, n) for e in epochs for n in epochs[e])
        )
        clock, done, passed, before = None, False, False, None
        for mark in chain:
            place = [mark["e"], mark["n"]]
            position = mark.get("p", {"files": []})
            if before is None:
                linked = tuple(place) <= earliest and (
                    "files" in read or (place[1] == 0 and "after" not in mark)
                )
            else:
                follows = [before[0], before[1] + 1] == place or mark.get("after") == before
                linked = passed and follows
            if "kafka" in position:
                offsets = read["kafka"]
                passed = all(
                    n <= offsets[topic].get(part, -1)
                    for topic in position["kafka"].keys() & offsets.keys()
                    for part, n in position["kafka"][topic].items()
                )
            else:
                passed = linked and set(position["files"]) <= set(read.get("files", ()))
            if passed and mark["k"] != "alive" and "t" in mark:
                clock = max(mark["t"], mark["t"] if clock is None else clock)
            done = passed and mark["k"] in ("idle", "end")
            before = place
        if not done:
            clocks.append(clock)
    known = [clock for clock in clocks if clock is not None]
    return min(known) if known and len(known) == len(clocks) else None


@pytest.mark.usefixtures(no_sync.__name__)
@pytest.mark.parametrize("seed", range(15))
def test_a_reader_written_from_the_page_reads_the_same_from_kafka_logs(
    tmp_path: Path, seed: int
) -> None:
    history = marks_model.run(tmp_path, seed)
    chance = random.Random(seed)
    log = log_at(tmp_path)
    for _ in range(20):
        offsets = {n: chance.randint(0, end) for n, end in enumerate(history.stream.ends())}
        text = {"kafka": {marks_model.TOPIC: {str(n): offset for n, offset in offsets.items()}}}
        window = log.window(KafkaPosition({marks_model.TOPIC: offsets}))
        assert lower_bound(tmp_path, text) == window.lower_millis


@pytest.mark.usefixtures(no_sync.__name__)
@pytest.mark.parametrize("seed", range(10))
def test_a_reader_written_from_the_page_reads_the_same_from_logs_of_files(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    log = log_at(tmp_path)
    names: list[str] = []
    for life in range(3):
        writer = log.writer("ü w")
        for number in range(chance.choice([1, 3, 300])):
            names.append(f"{life}-{number}")
            writer.note_time(len(names), files=names[-1:])
        if chance.random() < 0.3:
            writer.end()
    for _ in range(20):
        if chance.random() < 0.2:
            damage(chance.choice(sorted(tmp_path.iterdir())), chance)
        read = names[: chance.randint(0, len(names))] + chance.sample(names, 1)
        window = log.window(FilesPosition(frozenset(read)))
        found = lower_bound(tmp_path, {"files": read})
        is_all_done = window.upper_millis is None and found is None
        assert found == window.lower_millis or is_all_done


def damage(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(data)
