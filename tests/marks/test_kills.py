"""A writer that is killed, or whose machine loses power, loses no mark that it has told of."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.marks import log_at
from support.raising import raising

from tidemark.marks import FilesPosition, Marks
from tidemark_marks._protocol import files
from tidemark_marks._reading.rules import follows
from tidemark_marks._writing import life


class KilledError(BaseException):
    """Takes the place of SIGKILL: nothing of the package may catch it."""


class Calls:
    """The functions of `os`, until the one at which the process is killed.

    With `power`, what was not synced may be lost afterwards: renames, new and removed files, from
    the last one back.
    """

    def __init__(self, kill_at: int) -> None:
        self.count = 0
        self._kill_at = kill_at
        self._undo: list[tuple[str, bytes | None]] = []
        self._is_dead = False
        self.path = os.path
        self.name = os.name

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if not callable(real) or name in ("fspath", "PathLike"):
            return real

        def call(*arguments: Any, **options: Any) -> Any:
            self._step(name, arguments)
            if name == "fsync":
                if os.path.isdir(f"/proc/self/fd/{arguments[0]}"):
                    self._undo.clear()
                return None
            if name in ("replace", "unlink"):
                self._remember(arguments[-1])
            if name == "open" and arguments[1] & os.O_EXCL:
                self._remember(arguments[0])
            return real(*arguments, **options)

        return call

    def _step(self, name: str, arguments: tuple[Any, ...]) -> None:
        if self._is_dead and name != "close":
            raise KilledError
        self.count += 1
        if self.count == self._kill_at:
            self._is_dead = True
            if name == "write":
                os.write(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            if name == "close":
                os.close(*arguments)
            raise KilledError

    def _remember(self, path: str) -> None:
        self._undo.append((path, Path(path).read_bytes() if os.path.exists(path) else None))

    def lose_power(self, chance: random.Random) -> None:
        for path, before in reversed(self._undo[chance.randint(0, len(self._undo)) :]):
            if before is None:
                Path(path).unlink(missing_ok=True)
            else:
                Path(path).write_bytes(before)


def two_lives(log: Marks, noted: list[str]) -> None:
    """A life that seals twice, a second that takes over, and the first, which does not know."""
    first = log.writer("w")
    for number in range(4):
        first.note_time(number, files=[f"a{number}"])
        noted.append(f"a{number}")
    second = log.writer("w")
    second.note_time(10, files=["b0"])
    noted.append("b0")
    with raising("MARK_WRITER_FENCED"):
        first.note_time(99, files=["zombie"])
    for number in range(1, 4):
        second.note_time(10 + number, files=[f"b{number}"])
        noted.append(f"b{number}")
    second.end()


def require_whole(folder: Path, noted: list[str]) -> None:
    """The log has every noted mark once, and the chain has no gap."""
    log = log_at(folder)
    if noted:
        time = max(int(name[1:]) + 10 * (name[0] == "b") for name in noted)
        assert set(noted) <= log.cut_at(time).files
        window = log.window(FilesPosition(log.cut_at(time).files))
        assert window.lower_millis is not None and window.lower_millis >= time
    notes = [mark for mark in log.read().marks if mark.kind == "note"]
    assert [mark.time_millis for mark in notes] == sorted({mark.time_millis or 0 for mark in notes})
    assert all(follows(after, before) for before, after in pairwise(log.read().marks))
    assert [line.reason for line in log.read().skipped] == []


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life, "MOST_LIVE", 2)


def kills(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[int, Calls, Path, list[str]]]:
    """The two lives, killed at each of their system calls in turn, until they are not."""
    for kill_at in range(1, 2000):
        where = folder / str(kill_at)
        calls, noted = Calls(kill_at), list[str]()
        with monkeypatch.context() as patch:
            patch.setattr(files, "os", calls)
            try:
                two_lives(log_at(where), noted)
            except KilledError:
                pass
            else:
                return
        yield kill_at, calls, where, noted
        shutil.rmtree(where, ignore_errors=True)
    raise AssertionError("the lives never ended")


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize("power", [False, True])
def test_a_kill_between_any_two_system_calls_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, power: bool
) -> None:
    chance = random.Random(3)
    killed = 0
    for kill_at, calls, folder, noted in kills(tmp_path, monkeypatch):
        if power:
            calls.lose_power(chance)
        require_whole(folder, noted)
        # The next life goes on, and is killed no more.
        with monkeypatch.context() as patch:
            patch.setattr(files, "os", Calls(-1))
            with log_at(folder).writer("w") as writer:
                writer.note_time(30, files=["c20"])
        require_whole(folder, noted or ["c20"])
        assert "c20" in log_at(folder).cut_at(30).files
        assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]
        killed = kill_at
    assert killed > 100


LOOP = """
import sys, tidemark
log = tidemark.marks.Marks(sys.argv[1])
with log.writer("w") as writer:
    for number in range(int(sys.argv[2]), 10**9):
        writer.note_time(number, files=[str(number)])
        print(number, flush=True)
"""


def kill_in_a_loop(folder: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    noted: list[int] = []
    for _ in range(kills):
        command = [sys.executable, "-c", LOOP, str(folder), str(noted[-1] + 1 if noted else 0)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        noted.append(int(process.stdout.readline()))
        time.sleep(chance.random() / 5)
        process.kill()
        noted += [int(line) for line in process.stdout if line.endswith("\n")]
        process.wait()
    log = Marks(folder, max_ahead=None)
    assert set(map(str, noted)) <= log.cut_at(noted[-1]).files
    marks = log.read().marks
    assert all(follows(after, before) for before, after in pairwise(marks))
    notes = [mark.time_millis for mark in marks if mark.kind == "note"]
    # The mark that was being written when its writer was killed may be in the log, and comes again.
    times = sorted({time for time in notes if time is not None})
    expected = list(range(max(noted) + 1))
    assert times == expected or times[:-1] == expected
    assert len(notes) - len(set(notes)) <= kills


def test_a_process_that_is_killed_loses_no_mark(tmp_path: Path) -> None:
    kill_in_a_loop(tmp_path, 3, seed=1)


@pytest.mark.kill
def test_a_process_that_is_killed_again_and_again_loses_no_mark(tmp_path: Path) -> None:
    kill_in_a_loop(tmp_path, 60, seed=2)
