"""Two queries by noted time, and the writers before them, each killed again and again.

The writers note their times. The first query takes its watermark from these, and notes its own time,
from which the second takes its watermark. The output must be what a rule in plain Python makes of all
rows that were sent, and no row may be late by a mark. A killed program is not always the only one of
its kind: sometimes it was only held (SIGSTOP). It then continues beside its successor, and must do no
harm.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from common.folder import ROOT
from tidemark.marks import Marks

from . import chain_rows, chain_writers
from .chain_worker import LATE
from .chain_writers import PIECES, STOP
from .moments import Moment, found, last

ROLES = ("writers", "first", "second")
PATIENCE_SECONDS = 120
ZOMBIE_SECONDS = 5
"""How long a program that was held may go on beside the new one."""


class Chain:
    """Three programs in process groups of their own."""

    def __init__(self, folder: Path, seed: int, servers: str | None) -> None:
        self.name = f"noted, {'Kafka' if servers else 'files'}, seed {seed}"
        self._folder, self._seed, self._servers = folder, seed, servers
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        # A held query that writes to Kafka sends rows of a batch again, behind the mark of the new one.
        self._may_be_late = False
        for name in ("in", "mid"):
            (folder / name).mkdir(parents=True)
            if servers:
                from kafka_broker.topic import make_topic

                make_topic(servers, f"{folder.name}-{name}", 3)

    def start(self, role: str) -> None:
        """Starts a program, beside any other of its kind."""
        more = [self._servers] if self._servers else []
        command = [sys.executable, "-m", "kills.chain_worker", str(self._folder), str(self._seed)]
        with (self._folder / f"{role}.log").open("ab") as log:
            self._running[role] = subprocess.Popen(
                [*command, role, *more],
                cwd=ROOT / "examples",
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def begin(self) -> None:
        """Starts all. The second query looks for files when the first has said which are whole."""
        self.start("writers")
        self.start("first")
        self._wait("first", lambda: last(self._folder / "first", "commits") >= 0)
        self.start("second")

    def kill(self, draw: random.Random) -> str:
        """Kills one of them at a drawn moment, and starts it again; says where it was."""
        role = draw.choice(ROLES)
        # Rows in Kafka carry no fence: a writer of theirs that goes on breaks what the new one says.
        holds = (
            draw.random() < 0.25 and role != "second" and not (role == "writers" and self._servers)
        )
        if role == "writers":
            self._wait(role, self._notes_more())
            time.sleep(draw.random())
            place = "between two pieces or in one"
        else:
            checkpoint = self._folder / role
            Moment.draw(draw, checkpoint).wait(checkpoint, lambda: self._is_up(role))
            place = found(checkpoint)
        old = self._running[role]
        os.killpg(old.pid, signal.SIGSTOP if holds else signal.SIGKILL)
        self.start(role)
        if holds:
            self._wait(role, self._gets_further(role))
            os.killpg(old.pid, signal.SIGCONT)
            self._end(old, ZOMBIE_SECONDS)
            self._may_be_late |= bool(self._servers)
            return f"{role}, held and let go on: {place}"
        old.wait()
        return f"{role}: {place}"

    def finish(self) -> int:
        """Lets all come to their end; how many rows have come out.

        Raises:
            SystemExit: rows are lost, doubled, or late by a mark.
        """
        (self._folder / STOP).touch()
        self._wait("writers", lambda: (self._folder / PIECES).exists())
        pieces = json.loads((self._folder / PIECES).read_text())
        counts = chain_rows.expected(self._seed, pieces)
        expected = sorted([start, id, rows] for (start, id), rows in counts.items())
        rows: list[list[int]] = []
        end = time.monotonic() + PATIENCE_SECONDS
        while rows != expected and time.monotonic() < end:
            self._require_up()
            time.sleep(0.2)
            before, rows = len(rows), self._rows()
            # On a busy machine the last windows may take minutes, but something comes out.
            if len(rows) > before:
                end = time.monotonic() + PATIENCE_SECONDS
        self.stop()
        if rows != expected:
            lost = [row for row in expected if row not in rows]
            more = [row for row in rows if row not in expected]
            doubled = len(rows) - len({tuple(row) for row in rows})
            raise SystemExit(f"{self.name}: lost {lost}, {doubled} doubled, others {more}")
        late = {role: self._late(role) for role in ("first", "second")}
        if any(late.values()) and not self._may_be_late:
            raise SystemExit(f"{self.name}: late by a mark: {late}")
        return sum(counts.values())

    def stop(self) -> None:
        """Ends all programs that are left."""
        for process in self._running.values():
            self._end(process, 0)

    def _rows(self) -> list[list[int]]:
        file = self._folder / "rows.json"
        found_rows: list[list[int]] = json.loads(file.read_text()) if file.exists() else []
        return found_rows

    def _late(self, role: str) -> int:
        file = self._folder / f"{role}-{LATE}"
        return sum(map(int, file.read_text().split())) if file.exists() else 0

    def _gets_further(self, role: str) -> Callable[[], bool]:
        if role == "writers":
            return self._notes_more()
        before = last(self._folder / role, "commits")
        return lambda: last(self._folder / role, "commits") > before + 1

    def _notes_more(self) -> Callable[[], bool]:
        log = chain_writers.log(self._folder, self._servers)
        before = self._places(log)
        return lambda: self._places(log) > before

    @staticmethod
    def _places(log: Marks) -> tuple[int, int]:
        """The newest life, and how many marks it has."""
        marks = log.read().marks
        epoch = max((mark.epoch for mark in marks), default=0)
        return epoch, sum(mark.epoch == epoch and mark.kind == "note" for mark in marks)

    def _wait(self, role: str, done: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not done():
            if self._running[role].poll() or time.monotonic() > end:
                self._fail(role)
            time.sleep(0.02)

    def _is_up(self, role: str) -> bool:
        if self._running[role].poll() is not None:
            self._fail(role)
        return True

    def _require_up(self) -> None:
        for role in ("first", "second"):
            self._is_up(role)

    def _fail(self, role: str) -> None:
        log = (self._folder / f"{role}.log").read_text(errors="replace")
        self.stop()
        raise SystemExit(f"{self.name}: {role} failed.\n{log[-6000:]}")

    @staticmethod
    def _end(process: subprocess.Popen[bytes], seconds: float) -> None:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def run(
    folder: Path, seed: int, servers: str | None, draw: random.Random, most: int
) -> tuple[Counter[str], int]:
    """Kills the programs of a chain so many times; where they were, and how many rows came through.

    Raises:
        SystemExit: rows are lost, doubled, or late by a mark.
    """
    chain = Chain(folder, seed, servers)
    try:
        chain.begin()
        places = Counter(chain.kill(draw) for _ in range(most))
        return places, chain.finish()
    finally:
        chain.stop()
