"""A mark log in a folder of a local file system."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidemark_marks._protocol.files import Folder
from tidemark_marks._protocol.names import parse
from tidemark_marks._protocol.position import Position
from tidemark_marks._reading import log, purged
from tidemark_marks._reading.cut import Chain
from tidemark_marks._reading.log import Contents
from tidemark_marks._writing.life import Life, purge


class FolderLog:
    """The log in a folder. Nothing is read before it is asked."""

    def __init__(self, path: str) -> None:
        self.location = path
        self._folder = Folder(path)
        self._sealed = log.Sealed()

    def exists(self) -> bool:
        """As `MarkStore.exists`."""
        return self._folder.exists()

    def read(self, only: Collection[str] | None = None) -> Contents:
        """As `MarkStore.read`."""
        return log.read(
            self._folder, lambda name: only is None or name.writer in only, self._sealed
        )

    def purged(self, only: Collection[str] | None = None) -> dict[str, Chain]:
        """As `MarkStore.purged`."""
        return purged.notes(self._folder, only)

    def positions(self) -> Iterator[tuple[str, Position]]:
        """As `MarkStore.positions`: from live files first, which are small and have the newest marks."""
        named = [parse(text) for text in self._folder.names()]
        files = [name for name in named if name is not None]
        for name in sorted(files, key=lambda name: name.slot is None):
            marks = reversed(log.read_marks(self._folder, name))
            position = next((mark.position for mark in marks if mark.position is not None), None)
            if position is not None:
                yield name.writer, position

    def begin(self, writer: str, now_millis: int) -> Life:
        """As `MarkStore.begin`."""
        return Life.begin(self._folder, writer, now_millis)

    def purge(self, before_millis: int) -> int:
        """As `MarkStore.purge`; returns how many files were removed."""
        named = [parse(text) for text in self._folder.names()]
        writers = {name.writer for name in named if name is not None}
        return sum(
            purge(self._folder, writer, before_millis, with_live=True) for writer in sorted(writers)
        )
