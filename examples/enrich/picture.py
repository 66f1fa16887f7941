"""The picture: how many calls each way has in flight, from the first to the last."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .plan import Plan
from .runs import Outcome
from .service import SAMPLE_SECONDS


def draw(outcomes: Mapping[str, Outcome], plan: Plan, picture: Path) -> None:
    """Draws a panel for each way, all with the same axes."""
    import matplotlib

    # No window system is needed, or asked for.
    matplotlib.use("Agg")
    # Text stays text, and two runs of the same figures draw the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tidemark"})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        len(outcomes), 1, figsize=(9, 1.1 * len(outcomes) + 0.6), sharex=True, sharey=True
    )
    for axes, (name, outcome) in zip(panels, outcomes.items(), strict=True):
        values = outcome.counts.in_flight
        times = [place * SAMPLE_SECONDS for place in range(len(values) + 1)]
        color = "tab:blue" if name.startswith("map_async") else "tab:red"
        axes.stairs(values, times, fill=True, color=color)
        axes.axhline(plan.limit, color="black", linewidth=0.8, linestyle="--")
        axes.set_title(name, loc="left", fontsize=9)
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("seconds since the first call")
    panels[0].set_ylim(0, 1.2 * plan.limit)
    figure.suptitle(f"Calls in flight. The service refuses more than {plan.limit}", fontsize=11)
    figure.tight_layout()
    figure.savefig(picture, dpi=110, metadata={"Date": None} if picture.suffix == ".svg" else None)
    pyplot.close(figure)
