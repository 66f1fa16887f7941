"""The picture: event time against each watermark, hour by hour, for both engines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from . import files
from .clock import SILENT_FROM, STEPS, start_of
from .table import Result
from .watching import GLOBAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {
    False: "weather live (a hole of five hours)",
    True: f"weather silent from {SILENT_FROM}:00",
}
COLORS = {"departure": "tab:blue", "weather_time": "tab:green"}


def draw(found: Sequence[Result], prepared: Path, picture: Path) -> None:
    """Draws part 1, with the weather live on the left and silent on the right."""
    import matplotlib

    # No window system is needed, or asked for.
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, both = pyplot.subplots(1, 2, figsize=(15, 7), sharey=True)
    for axes, silent in zip(both, (False, True), strict=True):
        _newest(axes, prepared, silent)
        for result in found:
            if (result.outcome.part, result.outcome.silent) == ("two_dashboards", silent):
                _watermarks(axes, result)
        _dress(axes, TITLES[silent])
    both[0].set_ylabel("event time")
    both[0].legend(loc="upper left")
    figure.suptitle("Departures and weather in one query: what each watermark has reached")
    figure.tight_layout()
    figure.savefig(picture, dpi=110)
    pyplot.close(figure)


def _newest(axes: Axes, prepared: Path, silent: bool) -> None:
    departures = files.newest(prepared, "departures", "departure")
    weather = files.newest(prepared, "weather", "weather_time")
    if silent:
        weather[SILENT_FROM:] = [None] * (STEPS - SILENT_FROM)
    for marker, colour, label, times in (
        (".", "tab:blue", "newest departure", departures),
        ("+", "tab:green", "newest weather record", weather),
    ):
        points = [(step, time) for step, time in enumerate(times) if time is not None]
        steps, values = zip(*points, strict=True)
        axes.plot(steps, values, marker=marker, color=colour, label=label, linestyle="none")


def _watermarks(axes: Axes, result: Result) -> None:
    for key, texts in result.outcome.watermarks.items():
        times = [datetime.fromisoformat(text) if text else None for text in texts]
        known = [(step, time) for step, time in enumerate(times) if time is not None]
        if not known:
            continue
        steps, values = zip(*known, strict=True)
        if key == GLOBAL:
            (line,) = axes.step(steps, values, where="post", label="stock's one watermark")
            # Broad and pale: Tidemark's run along it, or leave it behind.
            line.set(color="tab:red", linewidth=4, alpha=0.45)
        else:
            label = f"Tidemark's watermark of {key}"
            axes.step(steps, values, where="post", color=COLORS.get(key), label=label)


def _dress(axes: Axes, title: str) -> None:
    from matplotlib import dates

    axes.set_title(title)
    axes.set_xlabel("step (one per hour)")
    axes.set_xlim(0, STEPS)
    # matplotlib's dates bear no types.
    first, last = dates.date2num([start_of(-1), start_of(STEPS)])  # type: ignore[no-untyped-call]
    axes.set_ylim(first, last)
    axes.yaxis.set_major_formatter(dates.DateFormatter("%d %H:%M"))  # type: ignore[no-untyped-call]
    axes.grid(alpha=0.3)
