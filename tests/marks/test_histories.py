"""What holds for any history of a mark log: no row is late, complete stays complete, ranges divide the files.

Fifty histories are drawn here. A thousand are in `make test-more-python`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.between import unless
from support.marks import no_sync
from support.marks_histories import STEPS, Query, World, in_time_of, readers

from tidemark.marks import Cut, Marks
from tidemark_marks._reading.ranges import FilesRange, between

pytestmark = pytest.mark.usefixtures(no_sync.__name__)

REFUSED = ("CUT_EXPIRED", "CUT_NOT_READABLE", "INVALID_OPTION")

SEEDS = [*range(50), *(pytest.param(seed, marks=pytest.mark.more) for seed in range(50, 1000))]


@pytest.fixture
def world(tmp_path: Path, seed: int) -> Iterator[World]:
    world = World(tmp_path, seed)
    with in_time_of(world):
        yield world


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_history_keeps_what_marks_promise(world: World) -> None:
    queries: list[Query] = []
    objects: list[Asked] = []
    job = Job(world.marks())
    for step in range(STEPS):
        world.step()
        if step % 15 == 5:
            queries += [Query(*reader) for reader in world.chance.sample([*readers(world)], 1)]
            objects += [Asked(*reader) for reader in world.chance.sample([*readers(world)], 2)]
        what = world.chance.random()
        if what < 0.2:
            for query in queries:
                query.batch(world, dict(world.files))
        elif what < 0.35:
            world.chance.choice(objects or [Asked(*next(readers(world)))]).ask(world)
        elif what < 0.5:
            job.run(world)
    for kind in ("equal", "shuffled"):
        copied = Query(world.copy(kind), False, None)
        for _ in range(2):
            copied.batch(world, dict(world.files))
    require_agreement(world, objects)


def require_agreement(world: World, objects: list[Asked]) -> None:
    """Early or late, those that wait for the same writers, and leave out none, give the same answers."""
    alike = [asked for asked in objects if asked.only is not None and not asked.has_idle]
    alike.append(Asked(*list(readers(world))[3]))
    if not world.has_changed:
        times = {time for asked in alike for time in asked.complete}
        assert all(asked.marks.is_complete(time) for asked in alike for time in times)


class Asked:
    """A `Marks` that is asked again and again.

    Attributes:
        complete: The times up to which it has said that all rows have arrived.
    """

    def __init__(self, marks: Marks, has_idle: bool, only: tuple[str, ...] | None) -> None:
        self.marks = marks
        self.has_idle = has_idle
        self.only = only
        self.complete: set[int] = set()

    def ask(self, world: World) -> None:
        floors = [site.floor for site in world.sites.values()]
        time = world.chance.choice([*floors, world.chance.randint(0, max(floors))])
        if self.marks.is_complete(time):
            self.complete.add(time)
            self.require_rows(world, time)
        assert all(self.marks.is_complete(time) for time in self.complete)
        # Somebody is waited for exactly if there is something to wait for.
        assert (self.marks.waiting_for(time) == ()) == self.marks.is_complete(time)

    def require_rows(self, world: World, time: int) -> None:
        """The rows up to a time are in the cut there, as far as writers and their marks are known."""
        cut = unless(lambda: self.marks.cut_at(time), "NO_CUT")
        if cut is None:
            return
        for name, file in world.files.items():
            is_known = file.writer in world.there and (
                self.only is None or file.writer in self.only
            )
            is_left_out = self.has_idle and world.is_silent(file.writer)
            is_left_out |= not file.is_promised and name not in world.noted.get(file.writer, ())
            if min(file.times) <= time and is_known and not is_left_out:
                assert name in cut.files or name in world.purged, (name, time)


class Job:
    """A batch job that reads what came since the last cut that it has stored."""

    def __init__(self, marks: Marks) -> None:
        self.marks = marks
        self.stored: str | None = None
        self.read: set[str] = set()

    def run(self, world: World) -> None:
        """Reads the files between two cuts: each that is behind the first one, and once."""
        floors = [site.floor for site in world.sites.values() if site.name in world.there]
        end = unless(lambda: self.marks.cut_at(min(floors, default=0)), "NO_CUT")
        if end is None:
            return
        start = Cut.from_text(self.stored)
        found = unless(lambda: between(start, end, ()), *REFUSED)
        if found is None and goes_back(start, end):
            return
        wanted = world.before(end) - self.read
        if found is not None:
            assert isinstance(found, FilesRange)
            assert set(found.files) == wanted
        # A job that is refused starts again behind what it has missed.
        self.read |= wanted
        self.stored = end.text


def goes_back(start: Cut | None, end: Cut) -> bool:
    """Whether the second cut is before the first one: a writer that is new has noted less."""
    return start is not None and any(
        end.chains[writer].last < chain.last
        for writer, chain in start.chains.items()
        if writer in end.chains
    )
