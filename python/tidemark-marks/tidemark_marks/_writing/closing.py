"""The `with` block of a writer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TypeVar

_Writer = TypeVar("_Writer", bound="ClosedByWith")


class ClosedByWith(ABC):
    """A writer that the end of its `with` block closes."""

    @abstractmethod
    def close(self) -> None:
        """Closes the writer without an end: readers wait for its next life."""

    def __enter__(self: _Writer) -> _Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes the writer, and states nothing: it may go on in its next life."""
        self.close()
