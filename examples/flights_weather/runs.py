"""Which runs the demo makes: every part, with the weather live or silent."""

from __future__ import annotations

from dataclasses import dataclass

from common.engines import Engine


@dataclass(frozen=True)
class Run:
    """One query over the whole replay; ``part`` names a function of ``parts``."""

    part: str
    silent: bool = False
    only: Engine | None = None

    @property
    def name(self) -> str:
        return f"{self.part}-{'silent' if self.silent else 'live'}"


RUNS = (
    # Nothing holds the departures back when they are alone: stock is the yardstick.
    Run("departures_alone", only="stock"),
    Run("two_dashboards"),
    Run("two_dashboards", silent=True),
    Run("flights_with_weather"),
    Run("flights_with_weather", silent=True),
    Run("flights_with_weather_or_silence", silent=True, only="tidemark"),
    Run("by_both_times"),
    Run("second_watermark"),
)


def runs_of(engine: Engine) -> tuple[Run, ...]:
    """What one engine's worker has to run, in order."""
    return tuple(run for run in RUNS if run.only in (None, engine))
