"""The picture: what each input costs, over the rows in state."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from common.engines import NAMES, Engine

from .outcome import Outcome

COLORS: dict[Engine, str] = {"stock": "tab:red", "tidemark": "tab:blue"}


def draw(outcomes: Mapping[Engine, Outcome], picture: Path) -> None:
    """Draws a point for each input but the first one and the one that emits the window."""
    import matplotlib

    # No window system is needed, or asked for.
    matplotlib.use("Agg")
    # Text stays text, and two runs of the same figures draw the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tidemark"})
    from matplotlib import pyplot

    figure, both = pyplot.subplots(1, 2, figsize=(11, 4.5))
    points = slice(1, -1)
    for axes, title in zip(
        both, ("all triggers of an input, ms", "CPU time of its tasks, ms"), strict=True
    ):
        for engine, outcome in outcomes.items():
            figures = outcome.millis if axes is both[0] else outcome.cpu_millis
            axes.scatter(
                outcome.state[points],
                figures[points],
                s=12,
                color=COLORS[engine],
                label=NAMES[engine],
            )
        axes.set_title(title)
        axes.set_xlabel("groups in state")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(loc="upper left")
    figure.tight_layout()
    figure.savefig(picture, dpi=110, metadata={"Date": None} if picture.suffix == ".svg" else None)
    pyplot.close(figure)
