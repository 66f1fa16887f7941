"""Where an example leaves what it makes: ``out/NAME`` in the checkout; where it works until then."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory

from .ending import clean_end

ROOT = Path(__file__).resolve().parents[2]


def out_folder(name: str) -> Path:
    """Makes the folder, unless it exists; returns it."""
    folder = ROOT / "out" / name
    folder.mkdir(parents=True, exist_ok=True)
    # Nothing in here is for git, and git need not be told anywhere else.
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    return folder


@contextmanager
def fast_folder(prefix: str) -> Iterator[Path]:
    """A folder for checkpoints, gone when it is left; in memory where there is room for it.

    Otherwise each of a checkpoint's many small files would be waited for until it is on a disk.
    """
    shared = Path("/dev/shm")
    roomy = shared.is_dir() and os.access(shared, os.W_OK) and disk_usage(shared).free > 1 << 30
    where = shared if roomy else None
    # A Spark that is being ended may still write: what it leaves is not a reason to fail.
    with (
        clean_end(),
        TemporaryDirectory(prefix=prefix, dir=where, ignore_cleanup_errors=True) as it,
    ):
        yield Path(it)
