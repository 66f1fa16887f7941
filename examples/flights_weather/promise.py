"""What the demo promises, and what is broken of it.

Of part 1: the departures come out as if they were alone. Of part 2: with a rule for silence the
flights come out without the weather.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from common.engines import Engine

from .table import Result


def broken(found: Sequence[Result]) -> list[str]:
    """How Tidemark's departures differ from what is promised of them.

    Returns:
        A sentence for each difference; none when all is as promised.
    """
    return list(_differences(found))


def _differences(found: Sequence[Result]) -> Iterator[str]:
    alone = _result(found, "stock", "departures_alone", silent=False)
    if alone is None or alone.outcome.error or not alone.held.out:
        yield "The departures alone gave out no hour, so there is nothing to compare with."
        return
    for silent in (False, True):
        weather = "silent" if silent else "live"
        ours = _result(found, "tidemark", "two_dashboards", silent)
        if ours is None:
            yield f"Part 1 was not run by Tidemark with the weather {weather}."
        elif ours.outcome.error:
            yield f"Part 1 by Tidemark, weather {weather}, ended in {ours.outcome.error}."
        elif sorted(ours.outcome.given) != sorted(alone.outcome.given):
            yield (
                f"Part 1 by Tidemark, weather {weather}: the departures came out otherwise than "
                f"alone. Alone: {alone.held}. Here: {ours.held}."
            )

    waiting = _result(found, "tidemark", "flights_with_weather", silent=True)
    going_on = _result(found, "tidemark", "flights_with_weather_or_silence", silent=True)
    if waiting is None or going_on is None:
        yield "Part 2 was not run by Tidemark with the weather silent, with and without a rule for it."
    elif going_on.held.out <= waiting.held.out or going_on.held.still_held > 2:
        yield f"Part 2 with a rule for silence: {going_on.held}. Without: {waiting.held}."


def _result(found: Sequence[Result], engine: Engine, part: str, silent: bool) -> Result | None:
    case = (engine, part, silent)
    return next((r for r in found if (r.engine, r.outcome.part, r.outcome.silent) == case), None)
