"""The demo's table, made from invented outcomes."""

from __future__ import annotations

import json
from datetime import datetime

from support.demo import clock, held, outcome, runs, table

FIVE = datetime(2013, 11, 2, 5)
DEPARTED = held.Departed(
    [None] * 5 + [datetime(2013, 11, 2, hour, 58) for hour in (5, 6)], {FIVE: 15}
)


def line_of(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.strip().startswith(start))


def render(*outcomes: outcome.Outcome) -> str:
    return table.render(table.results("stock", outcomes, DEPARTED))


def test_each_demo_run_has_one_line_in_the_table() -> None:
    alone = outcome.Outcome("departures_alone", False, peak_state=6, late=1, batches=56)
    alone.given = [(7, "2013-11-02 05:00:00", 15)]
    words = line_of(render(alone), "departures alone").split()
    assert words == [
        "departures",
        "alone",
        "stock",
        "1",
        "of",
        "1",
        "1",
        "1",
        "1",
        "0",
        "6",
        "1",
        "56",
    ]


def test_the_demo_table_shows_a_refusal_and_the_batches_before_it() -> None:
    refused = outcome.Outcome("by_both_times", False, error="MULTIPLE_EVENT_TIME_COLUMNS")
    stopped = outcome.Outcome("second_watermark", False, batches=1, error="Redefining")
    text = render(refused, stopped)
    assert "MULTIPLE_EVENT_TIME_COLUMNS, before the first batch" in text
    assert "Redefining, after 1 batch" in text


def test_the_demo_table_shows_dashes_for_a_run_without_results() -> None:
    words = line_of(render(outcome.Outcome("flights_with_weather", True)), "weather silent").split()
    assert words[-10:] == ["0", "of", "1", "-", "-", "-", "1", "0", "0", "0"]


def test_a_demo_outcome_survives_a_json_round_trip() -> None:
    run = outcome.Outcome("two_dashboards", True, given=[(7, "2013-11-02 05:00:00", 15)])
    run.watermarks[""] = [None, "2013-11-02T04:50:00"]
    assert outcome.Outcome.from_json(json.loads(json.dumps(run.to_json()))) == run


def test_the_demo_table_contains_exactly_the_planned_runs() -> None:
    shown = {(name, silent) for part in table.PARTS for name, silent, _ in part.cases}
    assert shown == {(run.part, run.silent) for run in runs.RUNS}


def test_demo_steps_convert_to_hours_and_back() -> None:
    assert [clock.step_of(clock.start_of(step)) for step in range(clock.STEPS)] == list(range(36))
