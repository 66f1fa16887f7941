"""`Noted`: the mark log that the clocks of an input come from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from tidemark._errors import invalid_option
from tidemark_marks.shared import path_text

if TYPE_CHECKING:
    from tidemark_marks import Marks

_BROKERS: Final = "kafka.bootstrap.servers"

_DAY: Final = 86_400_000
"""What `max_ahead` is in ms unless it is given, for a `tidemark.marks.Marks` and for a query alike."""

NO_DELAY: Final = "0 seconds"
"""Nothing is guessed, so there is nothing to wait for."""


@dataclass(frozen=True)
class Noted:
    """A log of marks, in which the writers of an input note how far they are.

    The long form of `with_watermark(..., noted="/lake/orders/_tidemark")`.

    Attributes:
        log: The log's folder, on any file system that Spark can read, or a `tidemark.marks.Marks`, or
            `kafka:<topic>/<stream>`. True: the folder `_tidemark` in the path that the input reads.
        expected: Writers that hold the watermark back until they have noted a time or are idle.
            Left out, those of a `tidemark.marks.Marks`; without any, a writer counts from its first mark on.
        only_expected: Whether marks of all other writers are ignored. A `tidemark.marks.Marks` with
            `only_expected=True` says so too.
        options: For a log in Kafka: options of Spark's Kafka source, such as
            `kafka.bootstrap.servers`. What is left out is as for the input, if that reads Kafka. Of a
            `tidemark.marks.Marks`, Spark takes the brokers.

    Raises:
        TidemarkError: `INVALID_OPTION` when it is made: `log` is not a location, `expected` is not
            a list of names, or it differs from what the `tidemark.marks.Marks` expects.

    Example:
        >>> Noted("/lake/orders/_tidemark", expected=["eu", "us"])
        Noted(log='/lake/orders/_tidemark', expected=('eu', 'us'), only_expected=False)
    """

    log: str | os.PathLike[str] | Marks | Literal[True]
    expected: Iterable[str] = field(default=(), kw_only=True)
    only_expected: bool = field(default=False, kw_only=True)
    options: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        location(self.log)
        own = _of_marks(self.log)
        object.__setattr__(self, "expected", _expected(_names(self.expected), own))
        if own is not None and own.only_expected:
            object.__setattr__(self, "only_expected", True)
        object.__setattr__(self, "options", texts(self.options))


def as_noted(noted: object) -> Noted | None:
    """The long form of what was given as `noted`; None if nothing was, or False.

    Raises:
        TidemarkError: `INVALID_OPTION`.
    """
    if noted is None or noted is False:
        return None
    return noted if isinstance(noted, Noted) else Noted(noted)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Lengths:
    """Lengths of time that a `tidemark.marks.Marks` was given, in ms.

    Attributes:
        idle_after: When a silent writer is left out; None if it was not given.
        max_ahead: How far ahead of the clock a time may be; `"none"` for any. None if it is a day,
            as it is for a query where nothing is given.
    """

    idle_after: int | None = None
    max_ahead: int | Literal["none"] | None = None


def lengths_of(log: object) -> Lengths:
    """The lengths of time that a log was given, as options of the query."""
    own = _of_marks(log)
    if own is None:
        return Lengths()
    if own.max_ahead_millis is None:
        return Lengths(own.idle_after_millis, "none")
    return Lengths(
        own.idle_after_millis, None if own.max_ahead_millis == _DAY else own.max_ahead_millis
    )


def location(log: object, option: str = "noted") -> str | Literal[True]:
    """Where a log is, as the engine takes it.

    Raises:
        TidemarkError: `INVALID_OPTION`.
    """
    if log is True:
        return True
    own = _of_marks(log)
    path = path_text(log if own is None else own.location)
    if path is not None:
        return path
    raise invalid_option(option, log, "the location of a mark log, a tidemark.marks.Marks, or True")


def log_options(log: object, given: object, name: str = "options") -> dict[str, str]:
    """The options by which Spark reaches a log in Kafka: its brokers, and what was given.

    Raises:
        TidemarkError: `INVALID_OPTION` if what was given is not names and values.
    """
    return {**_brokers(log), **({} if given is None else texts(given, name))}


def _brokers(log: object) -> dict[str, str]:
    """The brokers of a `tidemark.marks.Marks`, as an option of Spark; empty for everything else."""
    own = _of_marks(log)
    options = None if own is None else own.options
    return {} if options is None else {_BROKERS: str(options[_BROKERS.removeprefix("kafka.")])}


def texts(options: object, name: str = "options") -> dict[str, str]:
    """Options as names and values.

    Raises:
        TidemarkError: `INVALID_OPTION`.
    """
    if isinstance(options, Mapping) and all(
        isinstance(name, str) and isinstance(value, str) for name, value in options.items()
    ):
        return dict(options)
    raise invalid_option(name, options, "names and values as text")


def _of_marks(log: object) -> Marks | None:
    from tidemark_marks import Marks

    return log if isinstance(log, Marks) else None


def _expected(given: tuple[str, ...], own: Marks | None) -> tuple[str, ...]:
    """The writers that are expected: those of the long form, or of the `Marks` in it."""
    names = () if own is None else tuple(sorted(own.expected))
    if given and names and set(given) != set(names):
        raise invalid_option("expected", list(given), f"{list(names)}, which the Marks expects")
    return given or names


def _names(expected: object) -> tuple[str, ...]:
    if isinstance(expected, Iterable) and not isinstance(expected, str):
        names = tuple(expected)
        if all(isinstance(name, str) and name for name in names):
            return names
    raise invalid_option("expected", expected, "a list of writers' names")
