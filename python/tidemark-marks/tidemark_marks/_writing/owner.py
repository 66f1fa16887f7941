"""The process that a writer belongs to. A fork of it has the writer's memory, and no right to its name.

Two processes with one life would give two marks the same number, and readers would take one of them.
"""

from __future__ import annotations

import os

from tidemark_marks.errors import TidemarkError


class Owner:
    """Remembers the process that it was made in.

    Args:
        writer: The writer's name, for the error.
    """

    def __init__(self, writer: str) -> None:
        self._writer = writer
        self._process = os.getpid()

    def is_here(self) -> bool:
        """Whether this is that process."""
        return os.getpid() == self._process

    def require_here(self) -> None:
        """Refuses a call in a fork. To be asked before any lock: a fork may have it locked forever.

        Raises:
            TidemarkError: `MARK_WRITER_FORKED`.
        """
        if self.is_here():
            return
        raise TidemarkError(
            "MARK_WRITER_FORKED",
            f"Writer '{self._writer}' was opened by process {self._process}, and this is process "
            f"{os.getpid()}, a fork of it",
            "opening a writer after the fork, with a name of its own in each process",
            writer=self._writer,
            opened=self._process,
            process=os.getpid(),
        )
