"""Watermarks, by their rules alone: no Spark here.

Each is told of a step's event times by input, once the step has had its effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Protocol

from .inputs import Step, times

NONE = datetime(1970, 1, 1)
"""Before there is a watermark."""

Delays = Mapping[str, timedelta]
"""By input."""


class Clocks(Protocol):
    """The watermarks of a query."""

    def observe(self, step: Step) -> None:
        """Advances them by the event times of a step."""

    def of(self, part: str) -> datetime:
        """The watermark of an input, or of an airport."""


class OneClock:
    """The largest event time of all, less the delay: stock Spark's rule for one `withWatermark`."""

    def __init__(self, delay: timedelta) -> None:
        self._delay = delay
        self._watermark = NONE

    def observe(self, step: Step) -> None:
        newest = max(times(step), default=None)
        if newest is not None:
            self._watermark = max(self._watermark, newest - self._delay)

    def of(self, part: str) -> datetime:
        return self._watermark


class Policy:
    """Stock Spark's rule for several `withWatermark`: their minimum, or their maximum.

    Each step is a run of its own. So an input without rows in the step has no watermark in it.
    """

    def __init__(self, choose: Callable[[Iterable[datetime]], datetime], delays: Delays) -> None:
        self._choose = choose
        self._delays = delays
        self._watermark = NONE

    def observe(self, step: Step) -> None:
        own = (
            max(step[name]) - delay if step[name] else NONE for name, delay in self._delays.items()
        )
        self._watermark = max(self._watermark, self._choose(own))

    def of(self, part: str) -> datetime:
        return self._watermark


class Splits:
    """The minimum over the clocks of the parts of an input: Tidemark's rule for `split_by`.

    Args:
        delay: of each clock
        idle_steps: a part that has been silent for so many steps is left out. None: never.
    """

    def __init__(self, delay: timedelta, idle_steps: int | None = None) -> None:
        self._delay = delay
        self._idle_steps = idle_steps
        self._clocks: dict[str, datetime] = {}
        self._silent: dict[str, int] = {}
        self._watermark = NONE

    def observe(self, step: Step) -> None:
        for part, arrived in step.items():
            if arrived:
                self._clocks[part] = max(self._clocks.get(part, NONE), max(arrived) - self._delay)
            self._silent[part] = 0 if arrived else self._silent.get(part, 0) + 1
        counting = [clock for part, clock in self._clocks.items() if not self._is_idle(part)]
        self._watermark = max(self._watermark, min(counting, default=NONE))

    def of(self, part: str) -> datetime:
        return self._watermark

    def _is_idle(self, part: str) -> bool:
        return self._idle_steps is not None and self._silent[part] >= self._idle_steps


class Each:
    """A watermark for each input: Tidemark's rule, and that of a query for each input."""

    def __init__(self, clocks: Mapping[str, Clocks]) -> None:
        self._clocks = clocks

    def observe(self, step: Step) -> None:
        for name, clock in self._clocks.items():
            clock.observe({name: step[name]})

    def of(self, part: str) -> datetime:
        return self._clocks[part].of(part)
