"""All that a mark log does with the disk, through functions of `os` only: local folders.

A file is written under a temporary name, synced, renamed into place, and the folder is synced. So
a file is whole or missing, also after a kill or a power failure.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from tidemark_marks._arguments import path_text
from tidemark_marks.errors import invalid_option

_CHUNK = 1 << 20
# In a shared folder, another user may have put a link at the temporary name.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# Or a named pipe, which would wait for another process. Windows has neither.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


class Folder:
    """A folder of a local file system."""

    def __init__(self, path: str) -> None:
        self.path = path

    def exists(self) -> bool:
        """Whether the folder exists."""
        return os.path.isdir(self.path)

    def make(self) -> None:
        """Makes the folder and those above it, durably, where they are missing."""
        missing = []
        above = os.path.abspath(self.path)
        while not os.path.isdir(above) and os.path.dirname(above) != above:
            missing.append(above)
            above = os.path.dirname(above)
        os.makedirs(self.path, exist_ok=True)
        for path in missing:
            _sync(os.path.dirname(path))

    def names(self, prefix: str = "") -> list[str]:
        """The names in the folder that begin with a prefix, sorted; none if there is no folder."""
        try:
            return sorted(name for name in os.listdir(self.path) if name.startswith(prefix))
        except FileNotFoundError:
            return []

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of a file piece by piece; none if there is no such file, or it is not a regular one."""
        try:
            file = os.open(self._at(name), os.O_RDONLY | _NO_WAIT)
        except FileNotFoundError:
            return
        except OSError as problem:
            # A socket cannot be opened.
            if problem.errno == errno.ENXIO:
                return
            raise
        try:
            if stat.S_ISREG(os.fstat(file).st_mode):
                while chunk := os.read(file, _CHUNK):
                    yield chunk
        finally:
            os.close(file)

    def modified_millis(self, name: str) -> int | None:
        """When a file was written, in ms since the epoch, by the file system's clock; None if there is no such file."""
        try:
            found = os.stat(self._at(name))
        except FileNotFoundError:
            return None
        return found.st_mtime_ns // 1_000_000 if stat.S_ISREG(found.st_mode) else None

    def stamp(self, name: str) -> tuple[int, int] | None:
        """The length of a file in bytes and when it was written, in ns; None if there is no such file."""
        try:
            found = os.stat(self._at(name))
        except FileNotFoundError:
            return None
        return found.st_size, found.st_mtime_ns

    def write(self, name: str, data: bytes, epoch: int) -> None:
        """Makes or replaces a file, durably. No two lives of a writer have one temporary file."""
        temporary = self._at(f".{name}.{epoch}.tmp")
        file = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK | _NO_WAIT, 0o644
        )
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(temporary, self._at(name))
        self.sync()

    def claim(self, name: str) -> bool:
        """Creates an empty file; False if it exists already."""
        try:
            file = os.open(self._at(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return False
        os.close(file)
        return True

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        try:
            os.stat(self._at(name))
        except FileNotFoundError:
            return False
        return True

    def remove(self, name: str) -> None:
        """Removes a file, if it exists."""
        try:
            os.unlink(self._at(name))
        except FileNotFoundError:
            return

    def sync(self) -> None:
        """Makes the names in the folder durable."""
        _sync(self.path)

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name)


def _sync(path: str) -> None:
    # Windows has no such call.
    if os.name != "posix":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def local_path(location: object) -> str:
    """The path of a mark log.

    Args:
        location: A path of a local file system, or a `file:` URI.

    Raises:
        TidemarkError: `INVALID_OPTION` for everything else.
    """
    path = path_text(location)
    if path is not None and "\0" not in path:
        if "://" not in path and not path.startswith("file:"):
            return path
        uri = urlsplit(path)
        if uri.scheme == "file" and uri.netloc in ("", "localhost") and uri.path:
            return unquote(uri.path)
    raise invalid_option(
        "location",
        location,
        "a path of a local file system",
        "giving a folder such as '/lake/orders/_tidemark', or a folder that another file system is mounted in",
    )
