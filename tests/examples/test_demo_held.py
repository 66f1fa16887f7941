"""The demo's measure: when an hour can be emitted, when it is emitted, and the time between."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from support.demo import held

DELAY = timedelta(minutes=10)


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2013, 11, 2, hour, minute)


def departed(*newest: datetime | None) -> held.Departed:
    counts = {time.replace(minute=0): 1 for time in newest if time is not None}
    return held.Departed(newest, counts)


def test_an_hour_can_be_emitted_once_the_watermark_reaches_its_end() -> None:
    times = departed(at(0, 35), at(1, 9), at(2, 10), at(3, 9))
    # 01:09 less ten minutes is 00:59; 02:10 less ten minutes is 02:00, the end of 01:00.
    assert held.could_be_out(times, DELAY) == {at(0): 2, at(1): 2}


def test_a_step_without_departures_closes_no_hour() -> None:
    times = departed(at(0, 59), None, None, at(3, 30))
    assert held.could_be_out(times, DELAY) == {at(0): 3}


def test_an_hour_counts_as_emitted_when_its_last_departure_is_emitted() -> None:
    counts = {at(5): 3, at(6): 2}
    given = [(6, at(5), 2), (7, at(5), 1), (8, at(6), 1)]
    assert held.is_out(given, counts) == {at(5): 7}


def test_an_hour_with_duplicate_departures_does_not_count_as_emitted() -> None:
    assert held.is_out([(6, at(5), 2)], {at(5): 1}) == {}


def test_hold_back_time_runs_from_possible_emission_to_actual_emission() -> None:
    could = {at(hour): hour + 1 for hour in range(12)}
    out = {at(hour): hour + 1 + held_for for hour, held_for in enumerate([0, 0, 1, 1, 1, 1, 2, 6])}
    assert held.summary(out, could, 14) == held.Held(
        out=8, hours=14, median=1.0, p90=6, longest=6, still_held=4
    )


def test_the_p90_figure_is_an_observed_value() -> None:
    could = {at(hour): 0 for hour in range(10)}
    out = {at(hour): hour for hour in range(10)}
    figures = held.summary(out, could, 10)
    assert (figures.median, figures.p90, figures.longest) == (4.5, 8, 9)


def test_a_run_that_emits_no_hours_has_no_hold_back_figures() -> None:
    assert held.summary({}, {at(0): 1}, 1) == held.Held(0, 1, None, None, None, 1)


@pytest.mark.parametrize("could", [{}, {at(0): 2}])
def test_an_hour_emitted_too_early_is_an_error(could: dict[datetime, int]) -> None:
    with pytest.raises(ValueError, match="2013-11-02 00:00"):
        held.summary({at(0): 1}, could, 1)
