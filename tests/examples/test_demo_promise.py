"""The demo fails if Tidemark's departure results differ from those of a departures-only run."""

from __future__ import annotations

import pytest
from support.demo import held, outcome, promise, runs, table

HOUR_5, HOUR_6 = (7, "2013-11-02 05:00:00", 15), (8, "2013-11-02 06:00:00", 9)


def result(
    engine: runs.Engine, part: str, silent: bool, *given: tuple[int, str, int], error: str = ""
) -> table.Result:
    run = outcome.Outcome(part, silent, given=list(given), error=error or None)
    return table.Result(engine, run, held.Held(len(given), 2, 0.0, 0, 0, 0))


ALONE = result("stock", "departures_alone", False, HOUR_5, HOUR_6)
LIVE = result("tidemark", "two_dashboards", False, HOUR_5, HOUR_6)
SILENT = result("tidemark", "two_dashboards", True, HOUR_6, HOUR_5)
WAITING = result("tidemark", "flights_with_weather", True, HOUR_5)
GOING_ON = result("tidemark", "flights_with_weather_or_silence", True, HOUR_5, HOUR_6)
JOINED = [WAITING, GOING_ON]


def test_the_demo_check_accepts_departures_that_match_the_departures_only_run() -> None:
    # The check ignores stock Spark's results for part 1.
    stock = result("stock", "two_dashboards", True, HOUR_5)
    assert promise.broken([ALONE, stock, LIVE, SILENT, *JOINED]) == []


@pytest.mark.parametrize(
    ("silent", "given"),
    [
        (False, [HOUR_5]),
        (True, [HOUR_5]),
        (True, [HOUR_5, (9, *HOUR_6[1:])]),
        (False, [HOUR_5, (8, HOUR_6[1], 8)]),
    ],
)
def test_the_demo_check_rejects_a_missing_delayed_or_changed_hour(
    silent: bool, given: list[tuple[int, str, int]]
) -> None:
    other = result("tidemark", "two_dashboards", silent, *given)
    (problem,) = promise.broken([ALONE, SILENT if not silent else LIVE, other, *JOINED])
    assert f"weather {'silent' if silent else 'live'}" in problem


def test_the_demo_check_rejects_a_failed_or_missing_run() -> None:
    failed = result("tidemark", "two_dashboards", True, HOUR_5, HOUR_6, error="WENT_BACK")
    assert len(promise.broken([ALONE, failed, *JOINED])) == 2


def test_the_demo_check_requires_results_from_the_departures_only_run() -> None:
    none = result("stock", "departures_alone", False)
    assert len(promise.broken([none, LIVE, SILENT])) == 1
    assert len(promise.broken([LIVE, SILENT])) == 1


def test_the_demo_check_rejects_flights_that_wait_for_an_idle_weather_input() -> None:
    (problem,) = promise.broken([ALONE, LIVE, SILENT, WAITING, WAITING])
    assert "Part 2 was not run" in problem
    held_up = result("tidemark", "flights_with_weather_or_silence", True, HOUR_5)
    (problem,) = promise.broken([ALONE, LIVE, SILENT, WAITING, held_up])
    assert "rule for silence" in problem
