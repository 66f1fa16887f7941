"""A checkpoint on a full disk, and in folders that may not be written: the error names the path, and no row is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.processes import run_script

pytestmark = [pytest.mark.engine, pytest.mark.more]

OTHER_USER = 65534
# Between these, a batch's files no longer fit on the disk one after the other.
LEFT_BYTES = [0, 8192, 16384, 24576, 32768, 49152]


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
        timeout=60,
    )
    if mounted.returncode:
        pytest.skip("a file system may not be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True, timeout=60)


def assert_goes_on(straight: dict[str, Any], run: dict[str, Any], *said: str) -> None:
    assert straight["error"] == ""
    assert len(straight["rows"]) > 5 and straight["late"] == 2
    for part in said:
        assert part in run["error"], run["error"]
    for what in ("rows", "late", "entries"):
        assert run[what] == straight[what], what


@pytest.mark.skipif(os.getuid() != 0, reason="needs to mount a file system")
def test_a_query_on_a_full_disk_fails_with_the_path_and_goes_on_when_there_is_space(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        lefts = [str(left) for left in LEFT_BYTES]
        found = run_script("troubled_disk.py", str(tmp_path), str(disk), "full", *lefts)
    failed = [left for left in lefts if found[left]["error"]]
    assert len(failed) > 3
    for left in failed:
        # Spark does not name its own files, but the query's error has the checkpoint.
        assert_goes_on(found["straight"], found[left], f"checkpointLocation={disk}/of{left}")


@pytest.fixture(scope="module")
def full_for_entries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run in which only Tidemark's entries are on a disk that becomes full, and `entries`, where they are."""
    if os.getuid():
        pytest.skip("needs to mount a file system")
    folder = tmp_path_factory.mktemp("entries")
    entries = folder / "disk" / "of0" / "tidemark"
    with small_disk(folder / "disk"), small_disk(folder / "for entries") as disk:
        entries.mkdir(parents=True)
        (disk / "of0").mkdir()
        bind = ["mount", "--bind", str(disk / "of0"), str(entries)]
        subprocess.run(bind, check=True, timeout=60)
        try:
            arguments = [str(folder), str(folder / "disk"), "full", "0"]
            found = run_script("troubled_disk.py", *arguments, BALLAST=str(disk))
        finally:
            subprocess.run(["umount", str(entries)], check=True, timeout=60)
    return {**found, "entries": str(entries)}


def test_a_query_whose_entry_does_not_fit_on_the_disk_goes_on_when_there_is_space(
    full_for_entries: dict[str, Any],
) -> None:
    found = full_for_entries
    assert_goes_on(found["straight"], found["0"], "No space left on device")


def test_an_entry_that_does_not_fit_on_the_disk_is_named(full_for_entries: dict[str, Any]) -> None:
    error = full_for_entries["0"]["error"]
    assert "CHECKPOINT_ENTRY_NOT_WRITTEN" in error
    assert f"{full_for_entries['entries']}/" in error


@pytest.mark.skipif(os.getuid() != 0, reason="root starts a program as another user")
@pytest.mark.parametrize("part", ["tidemark", "offsets", "commits", "state", "whole"])
def test_a_query_that_may_not_write_fails_with_the_path_and_goes_on_when_it_may(part: str) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        shutil.chown(folder, OTHER_USER, OTHER_USER)
        as_other_user = [
            "env",
            "-C",
            str(folder),
            "setpriv",
            f"--reuid={OTHER_USER}",
            f"--regid={OTHER_USER}",
        ]
        as_other_user += ["--clear-groups", sys.executable]
        if subprocess.run([*as_other_user, "-c", "import pyspark"], check=False).returncode:
            pytest.skip("another user may not run this Python")
        found = run_script(
            "troubled_disk.py",
            str(folder),
            str(folder / "checkpoint"),
            part,
            launcher=as_other_user,
            HOME=str(folder),
        )
        assert found["uid"] == OTHER_USER
        inside = "" if part == "whole" else f"/{part}"
        assert_goes_on(found["straight"], found["0"], f"{folder}/checkpoint{inside}")
    finally:
        shutil.rmtree(folder)
