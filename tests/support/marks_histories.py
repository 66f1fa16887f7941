"""Drawn histories of a mark log in a folder: writers that come and go, purges, copies, damage, wrong clocks.

Rows are in files here; in `marks_partitions` they are records of a topic. The model knows every row
that is ever written and what each writer has said, so it can say what no reader can: whether a row
that has not been read is late. Time is that of the model. Files are as old as it says.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tidemark import TidemarkError
from tidemark.marks import Cut, FilesPosition, Marks, MarkWriter, TimeWindow
from tidemark_marks._protocol.position import MOST, Position

MINUTE = 60_000
IDLE_AFTER = timedelta(minutes=5)
RETAIN = timedelta(minutes=30)
EXPECTED = ("eu", "us")
NAMES = (*EXPECTED, "asia", "late")
STEPS = 60


Where = dict[str, Any]
"""Where a writer is, as arguments of `note_time` and `end`."""


@dataclass
class Site:
    """A writer that keeps its word: no file that it publishes has a row up to a time that it has noted.

    Attributes:
        name: Its name.
        wrong_by: How much the clock of its host is ahead, in ms.
        marks: The life that is running.
        dead: Lives that were killed, or that another life has replaced.
        floor: The largest time that it has noted.
        pending: Files that it has published, and not listed yet.
        spoke: When it last said something new, by the clock of the store.
        is_done: Whether it has said that it is idle or that it has ended, and nothing since.
        is_damaged: Whether a file of its marks was cut.
        had_late_mark: Whether a life of it has written a mark after it was replaced.
    """

    name: str
    wrong_by: int
    marks: MarkWriter | None = None
    dead: list[MarkWriter] = field(default_factory=list)
    floor: int = 0
    pending: list[str] = field(default_factory=list)
    spoke: int = 0
    is_done: bool = False
    is_damaged: bool = False
    had_late_mark: bool = False


@dataclass(frozen=True)
class File:
    """A file of rows, or one record.

    Attributes:
        writer: Who has published it.
        times: The event times of its rows.
        is_promised: Whether readers wait for it. What a writer publishes while it is idle may be late.
    """

    writer: str
    times: tuple[int, ...]
    is_promised: bool


class World:
    """The log, its writers and their files.

    Args:
        folder: Where the log is made, and copies of it.
        seed: What the history is drawn from.
        start: The time at which it begins, in ms since the epoch.
        floor: No row has an event time up to this one, in ms.

    Attributes:
        log: The folder of the log.
        now: The clock of the store and of the readers, in ms.
        files: All files that were ever published. Retention takes none.
        noted: The files that each writer has listed, each with the place of its mark.
        purged: The files whose marks are no longer in the log.
        there: The writers that have marks in the log.
        has_changed: Whether an expected writer was back after it had ended or been idle, was purged
            or damaged, or wrote too late.
    """

    nowhere = '{"files":["nowhere"]}'
    """The position that a life notes which was replaced, as text."""

    def __init__(
        self, folder: Path, seed: int, start: int = 1_800_000_000_000, floor: int = 0
    ) -> None:
        self.chance = random.Random(seed)
        self.folder = folder
        self.log = folder / "_tidemark"
        self.now = start
        self.clock: Callable[[], int] = lambda: self.now
        skews = [0, 0, -10 * MINUTE, 10 * MINUTE]
        self.sites = {name: Site(name, self.chance.choice(skews), floor=floor) for name in NAMES}
        self.files: dict[str, File] = {}
        self.noted: dict[str, dict[str, tuple[int, int]]] = {}
        self.purged: set[str] = set()
        self.has_changed = False
        self._written: dict[str, int] = {}
        self._count = 0
        self._firsts: dict[str, tuple[int, int]] = {}
        self.there: set[str] = set()

    def marks(self, **options: object) -> Marks:
        """The log as a reader on a host with the right clock has it."""
        return Marks(self.log, clock=self.clock, **options)  # type: ignore[arg-type]

    def step(self) -> None:
        """Somebody does something."""
        self.now += self.chance.choice([0, 1000, MINUTE, MINUTE, 3 * MINUTE])
        site = self.sites[self.chance.choice([*NAMES, *EXPECTED])]
        if site.marks is None:
            self.chance.choice([self._open, self._open, self._purge, self._damage])(site)
        else:
            try:
                self.chance.choices(
                    [self._publish, self._note, self._alive, self._idle, self._end, self._die,
                     self._replace, self._zombie, self._purge, self._damage],
                    [30, 40, 5, 3, 2, 5, 5, 4, 3, 3],
                )[0](site)  # fmt: skip
            except TidemarkError as error:
                if error.code != "MARK_WRITER_FENCED":
                    raise
                # Its files were purged: the process ends, and another one goes on later.
                site.marks = None
        self._date_files()
        self._look()

    def position(self, read: set[str]) -> Position:
        """The position of a reader that has read some files."""
        return FilesPosition(frozenset(read))

    def some_of(self, unread: list[str]) -> set[str]:
        """What a reader reads next of files that it has not read: any of them."""
        share = self.chance.choice([0.2, 0.6, 1])
        return {name for name in unread if self.chance.random() < share}

    def is_silent(self, writer: str) -> bool:
        """Whether a writer may be left out by its silence."""
        site = self.sites[writer]
        return site.is_damaged or self.now - site.spoke >= IDLE_AFTER // timedelta(milliseconds=1)

    def before(self, cut: Cut) -> set[str]:
        """The files that a reader at a cut has read; all files of a writer that the cut does not have."""
        return {
            file
            for writer, files in self.noted.items()
            for file, place in files.items()
            if writer not in cut.chains or place <= cut.chains[writer].last
        }

    def copy(self, kind: str) -> Marks:
        """A reader of a copy of the log, whose files are all equally old, or as old as others were."""
        self._count += 1
        target = self.folder / f"copy{self._count}"
        shutil.copytree(self.log, target) if self.log.exists() else target.mkdir()
        there = sorted(target.iterdir())
        times = [self._written.get(file.name, self.now) for file in there]
        if kind == "equal":
            times = [self.now] * len(times)
        else:
            self.chance.shuffle(times)
        for file, millis in zip(there, times, strict=True):
            os.utime(file, ns=(millis * 1_000_000,) * 2)
        return Marks(target, clock=self.clock)

    def _open(self, site: Site) -> None:
        if not site.spoke and site.name not in EXPECTED:
            # Readers do not know it yet, so its rows are no older than what may be complete.
            site.floor = max(other.floor for other in self.sites.values())
        self.has_changed |= site.is_done and site.name in EXPECTED
        host = Marks(self.log, clock=lambda: self.now + site.wrong_by)
        site.marks = host.writer(site.name, retain=RETAIN)
        site.spoke, site.is_done = self.now, False

    def _publish(self, site: Site) -> None:
        self._count += 1
        name = f"{site.name}-{self._count}"
        rows = range(self.chance.randint(1, 3))
        times = tuple(site.floor + self.chance.randint(1, 90_000) for _ in rows)
        self.files[name] = File(site.name, times, not site.is_done)
        site.pending.append(name)

    def _note(self, site: Site) -> None:
        time = site.floor + self.chance.choice([0, 1000, 30_000, 60_000])
        self._say(site, time, lambda marks, place: marks.note_time(time, **place))

    def _say(
        self, site: Site, time: int, say: Callable[[MarkWriter, Where], None], *, all_files: bool = False
    ) -> None:  # fmt: skip
        """Lists files in a mark: at least those with rows up to the time."""
        marks = site.marks
        assert marks is not None
        listed = [
            name
            for name in site.pending
            if all_files or min(self.files[name].times) <= time or self.chance.random() < 0.7
        ]
        say(marks, self._where(site, listed))
        place = (marks.epoch, marks._number - 1)
        self.noted.setdefault(site.name, {}).update(dict.fromkeys(listed, place))
        site.pending = [name for name in site.pending if name not in listed]
        if time > site.floor:
            site.spoke = self.now
        site.floor = max(site.floor, time)
        self.has_changed |= site.is_done and site.name in EXPECTED
        site.is_done = False

    def _where(self, site: Site, listed: list[str]) -> Where:
        """Where a writer is that lists files: what it gives to the call that notes a time."""
        return {"files": listed}

    def _alive(self, site: Site) -> None:
        assert site.marks is not None
        site.marks.alive()
        self.has_changed |= site.is_done and site.name in EXPECTED
        site.spoke, site.is_done = self.now, False

    def _idle(self, site: Site) -> None:
        self._say(
            site, site.floor, lambda marks, place: marks.note_time(site.floor, **place), all_files=True
        )  # fmt: skip
        assert site.marks is not None
        site.marks.idle()
        site.spoke, site.is_done = self.now, True

    def _end(self, site: Site) -> None:
        self._say(site, site.floor, lambda marks, place: marks.end(**place), all_files=True)
        site.spoke, site.is_done, site.marks = self.now, True, None

    def _die(self, site: Site) -> None:
        assert site.marks is not None
        if self.chance.random() < 0.5:
            site.marks.close()
        site.dead.append(site.marks)
        site.marks = None

    def _replace(self, site: Site) -> None:
        assert site.marks is not None
        site.dead.append(site.marks)
        self._open(site)

    def _zombie(self, site: Site) -> None:
        """A life that was replaced writes a mark that it had begun before it could see that."""
        if not site.dead or site.is_damaged:
            return
        old = self.chance.choice(site.dead)
        own = [mark for mark in self.marks().read().marks if mark.writer == site.name]
        # Without the mark that fences it off, a reader could not tell, and a lost mark could be its own.
        if not any(mark.after is not None and mark.after[0] == old.epoch for mark in own):
            return
        newest = max(own)
        # The file that it finds gone may be there, as it was when it looked.
        life = old._life
        life.add(
            newest._replace(
                epoch=old.epoch, number=old._number, kind="note", after=None,
                time_millis=site.floor + 500_000, position_text=self.nowhere,
            )
        )  # fmt: skip
        old._number += 1
        site.had_late_mark = True
        # Once retention has taken the marks before it, the writer holds until it is taken, too.
        self.has_changed |= site.name in EXPECTED

    def _purge(self, site: Site) -> None:
        self.marks().purge(self.now - self.chance.choice([15, 30, 60]) * MINUTE)

    def _damage(self, site: Site) -> None:
        """Cuts a file inside a line."""
        files = sorted(self.log.glob(f"{site.name}.*.marks"))
        # A known gap: a life that has fenced off a late mark.
        if not files or site.had_late_mark:
            return
        file = self.chance.choice(files)
        data = file.read_bytes()
        if b"\n" in data:
            end = self.chance.randrange(1, len(data))
            if data[end - 1 : end] != b"\n":
                file.write_bytes(data[:end])
                site.is_damaged = True
                self.has_changed |= site.name in EXPECTED

    def _look(self) -> None:
        """What is in the log after a step, and what no longer is."""
        marks = self.marks().read().marks
        positions = [mark.position for mark in marks]
        listed = {
            name
            for position in positions
            if isinstance(position, FilesPosition)
            for name in position.files
        }
        there = {mark.writer for mark in marks}
        firsts: dict[str, tuple[int, int]] = {}
        for mark in marks:
            firsts.setdefault(mark.writer, mark.place)
        for writer, first in self._firsts.items():
            # Where damage has taken the first one, nothing is asked of these files either.
            if firsts.get(writer, (MOST, 0)) > first:
                self.purged |= self.noted.get(writer, {}).keys() - listed
        self._firsts = firsts
        self.has_changed |= bool((self.there - there) & set(EXPECTED))
        self.there = there

    def _date_files(self) -> None:
        """A file that was written in this step is as old as the step."""
        for file in self.log.iterdir() if self.log.exists() else ():
            if file.stat().st_mtime_ns != self._written.get(file.name, -1) * 1_000_000:
                os.utime(file, ns=(self.now * 1_000_000,) * 2)
                self._written[file.name] = self.now


@dataclass(frozen=True)
class Answer:
    """What a reader was told, and what is true then.

    Attributes:
        read: What it has read.
        is_at_end: Whether that is all there is.
        window: What it was told.
        excused: The writers that are not waited for: what they publish may be late from now on.
        done: Those that are idle or have ended by their word. What they publish later may be late.
    """

    read: Position
    is_at_end: bool
    window: TimeWindow
    excused: set[str]
    done: set[str]


@dataclass
class Query:
    """A query that reads files in any order, and takes its watermark from marks.

    Attributes:
        marks: The reader.
        has_idle: Whether it leaves out silent writers.
        only: The writers that it waits for; None for all.
        read: What it has read.
        watermark: The largest lower bound so far.
        allowed: Up to which time each writer's rows may be late: what was passed while it was left out.
    """

    marks: Marks
    has_idle: bool
    only: tuple[str, ...] | None
    read: set[str] = field(default_factory=set)
    watermark: int = -1
    allowed: dict[str, int] = field(default_factory=dict)

    def batch(self, world: World, files: dict[str, File]) -> Answer:
        """Reads some files, and looks at the marks."""
        self.read |= world.some_of(sorted(files.keys() - self.read))
        is_at_end = self.read >= files.keys()
        position = world.position(self.read)
        window = self.marks.window(position, is_at_end=is_at_end)
        lower = window.lower_millis
        self.watermark = max(self.watermark, -1 if lower is None else lower)
        excused = {name for name in world.sites if self.may_be_late(world, name)}
        self.allowed |= dict.fromkeys(excused, self.watermark)
        self.require_none_late(files)
        # What they have published before was in the check. If they return, their rows may be late.
        done = {name for name, site in world.sites.items() if site.is_done}
        self.allowed |= dict.fromkeys(done, self.watermark)
        return Answer(position, is_at_end, window, excused, done)

    def may_be_late(self, world: World, writer: str) -> bool:
        """Whether no reader waits for a writer now."""
        is_known = writer in world.there and (self.only is None or writer in self.only)
        return not is_known or (self.has_idle and world.is_silent(writer))

    def require_none_late(self, files: dict[str, File]) -> None:
        """No row that is not read is at or below the watermark."""
        for name in files.keys() - self.read:
            file = files[name]
            late = [
                time
                for time in file.times
                if self.allowed.get(file.writer, -1) < time <= self.watermark
            ]
            assert not (late and file.is_promised), (name, late, self)


READERS: tuple[dict[str, Any], ...] = (
    {},
    {"idle_after": IDLE_AFTER},
    {"expected": EXPECTED},
    {"expected": EXPECTED, "only_expected": True},
    {"expected": EXPECTED, "only_expected": True, "idle_after": IDLE_AFTER},
)
"""The options of each kind of reader."""


def readers(world: World) -> Iterator[tuple[Marks, bool, tuple[str, ...] | None]]:
    """Readers of each kind, each with whether it has `idle_after`, and which writers it waits for."""
    return (reader(world, options) for options in READERS)


def reader(world: World, options: Mapping[str, Any]) -> tuple[Marks, bool, tuple[str, ...] | None]:
    """A reader with these options, as `Query` takes it."""
    only = EXPECTED if options.get("only_expected") else None
    return world.marks(**options), "idle_after" in options, only


@contextmanager
def in_time_of(world: World) -> Iterator[None]:
    """Readers take the time of the model for that of the store, and retention has something to take."""
    with pytest.MonkeyPatch.context() as patch:
        # Readers date marks by their store only if their clock is that of the machine.
        patch.setattr("tidemark_marks._marks.wall_clock", world.clock)
        # A few marks are sealed.
        patch.setattr("tidemark_marks._writing.life.MOST_LIVE", 4)
        yield
