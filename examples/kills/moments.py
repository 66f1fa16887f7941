"""When to kill: a file of the checkpoint, and how long after it has come."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SCANS = "scans.txt"
"""A line for each batch of a run that has ended: whether it has scanned its state."""
ANY = "any time"
CUT = "a piece of its entry"
MOMENTS = {
    "the commit before it": ("commits", -1, 0.0),
    "its offsets": ("offsets", 0, 0.0),
    "its offsets, a little later": ("offsets", 0, 0.4),
    "its entry": ("tidemark", 0, 0.0),
    CUT: ("tidemark", 0, 0.0),
    "its commit": ("commits", 0, 0.0),
}
"""Which file of a batch is waited for (folder, and how many batches later), and up to how many seconds more."""


def last(checkpoint: Path, log: str) -> int:
    """The newest batch that a log has something of; -1 where there is none."""
    folder = checkpoint / log
    files = folder.iterdir() if folder.is_dir() else iter(())
    written = [p.name for p in files if not p.name.startswith(".") and _size(p)]
    batches = [name.split(".")[0] for name in written]
    return max((int(batch) for batch in batches if batch.isdigit()), default=-1)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        # The query has deleted it in this moment.
        return 0


@dataclass(frozen=True)
class Moment:
    """A drawn moment of a run that goes on from a checkpoint."""

    name: str
    batch: int
    more: float

    @staticmethod
    def draw(random_: random.Random, checkpoint: Path) -> Moment:
        """One of the next few batches, or any time."""
        name = random_.choice([*MOMENTS, ANY])
        batch = last(checkpoint, "commits") + 1 + random_.randrange(3)
        return Moment(name, batch, random_.random())

    def wait(self, checkpoint: Path, is_running: Callable[[], bool]) -> bool:
        """Until it has come; whether it has, before the run ended by itself."""
        if self.name == ANY:
            # From when the first batch of the run is planned, which is what is slow to come.
            begun = last(checkpoint, "offsets")
            came = _until(lambda: last(checkpoint, "offsets") > begun, is_running)
            return came and not _until(lambda: False, is_running, self.more * 3)
        log, later, most = MOMENTS[self.name]
        wanted = max(self.batch + later, 0)
        if not _until(lambda: last(checkpoint, log) >= wanted, is_running):
            return False
        time.sleep(self.more * most)
        return True


def _until(
    done: Callable[[], bool], is_running: Callable[[], bool], seconds: float | None = None
) -> bool:
    """Whether it was done before the run ended, or the time was over while it ran (then not)."""
    end = None if seconds is None else time.monotonic() + seconds
    while is_running():
        if done():
            return True
        if end is not None and time.monotonic() > end:
            return False
        time.sleep(0.001)
    return seconds is not None


def found(checkpoint: Path) -> str:
    """Where a query was when it was killed, by what it has left."""
    offsets, entry, commit = (last(checkpoint, log) for log in ("offsets", "tidemark", "commits"))
    if offsets == commit:
        return "between two batches"
    return "entry written, not committed" if entry == offsets else "in a batch, before its entry"


def scanned_nothing(run: Path) -> bool:
    """Whether the last batch that a run has told of has left the state of an operator unscanned."""
    file = run / SCANS
    return file.is_file() and file.read_text(encoding="utf-8").endswith("not scanned\n")


def cut_entry(checkpoint: Path) -> bool:
    """Leaves half of an entry that does not count yet, as a power cut can; whether there was one."""
    batch = last(checkpoint, "tidemark")
    if batch <= last(checkpoint, "commits"):
        return False
    for name in (str(batch), f"{batch}.changes"):
        file = checkpoint / "tidemark" / name
        if file.exists():
            data = file.read_bytes()
            file.write_bytes(data[: len(data) // 2])
            (file.parent / f".{name}.crc").unlink(missing_ok=True)
    return True
