"""The demo's rows: event times come from the data, and each row arrives in its step."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from support.demo import clock, data, files


def flight(day: int, hour: int, minute: int, delay: str, month: str = "11") -> dict[str, str]:
    return {
        "year": "2013",
        "month": month,
        "day": str(day),
        "hour": str(hour),
        "minute": str(minute),
        "dep_delay": delay,
        "origin": "JFK",
        "carrier": "B6",
        "flight": "1",
    }


def departure(line: dict[str, str]) -> str | None:
    row = data.departure_row(line)
    return row and row["departure"]


def test_a_departure_time_is_the_scheduled_time_plus_the_delay() -> None:
    assert departure(flight(2, 4, 55, "-2.0")) == "2013-11-02T04:53:00"


def test_a_delayed_evening_flight_departs_after_midnight() -> None:
    assert departure(flight(1, 23, 30, "65")) == "2013-11-02T00:35:00"


@pytest.mark.parametrize("delay", ["", "NA"])
def test_a_canceled_flight_has_no_departure(delay: str) -> None:
    assert departure(flight(2, 9, 0, delay)) is None


def test_weather_times_use_local_time_instead_of_utc() -> None:
    line = {
        **flight(3, 1, 0, ""),
        "time_hour": "2013-11-03T06:00:00Z",
        "wind_speed": "3",
        "visib": "10",
    }
    assert data.weather_row(line)["weather_time"] == "2013-11-03T01:00:00"


def test_a_row_arrives_in_the_hour_of_its_event_time() -> None:
    lines = [flight(2, 5, 30, "0"), flight(2, 5, 10, "0"), flight(2, 5, 59, "1")]
    steps = data.by_step(lines, data.departure_row, "departure")
    assert {step: [row["departure"] for row in rows] for step, rows in steps.items()} == {
        5: ["2013-11-02T05:10:00", "2013-11-02T05:30:00"],
        6: ["2013-11-02T06:00:00"],
    }


def test_rows_outside_the_replay_period_are_excluded() -> None:
    lines = [
        flight(1, 23, 59, "0"),
        flight(3, 12, 0, "0"),
        flight(3, 11, 59, "0"),
        flight(2, 9, 0, "0", month="7"),
    ]
    assert list(data.by_step(lines, data.departure_row, "departure")) == [clock.STEPS - 1]


def test_the_demo_data_has_hours_without_weather_and_hours_without_departures() -> None:
    # The demo depends on these gaps: without them neither input would wait for the other.
    steps = set(range(clock.STEPS))
    assert steps - data.weather().keys() == {20, 21, 22, 23, 24}
    assert steps - data.departures().keys() == {1, 2, 3, 24, 25, 26, 27, 28}


def test_an_input_file_appears_only_at_its_arrival_step(tmp_path: Path) -> None:
    prepared, run = tmp_path / "data", tmp_path / "run"
    for stream in files.STREAMS:
        (prepared / stream).mkdir(parents=True)
    name = f"{clock.start_of(4):%Y-%m-%dT%H}.json"
    (prepared / "departures" / name).write_text('{"departure": "2013-11-02T04:53:00"}\n')

    files.lay_out(prepared, run)
    live = run / "live" / "departures"
    files.arrive(run, "departures", 3)
    assert list(live.iterdir()) == []
    files.arrive(run, "departures", 4)
    assert [file.name for file in live.iterdir()] == [name]

    departed = files.departed(prepared)
    assert departed.counts == {datetime(2013, 11, 2, 4): 1}
    assert departed.newest[3:6] == [None, datetime(2013, 11, 2, 4, 53), None]
