"""A wall clock that jumps an hour forward or back makes no row late, and holds no result forever."""

from __future__ import annotations

from typing import Any

import pytest
from support.processes import run_script
from support.wall_clock import COMPILER, movable_clock

pytestmark = [
    pytest.mark.engine,
    pytest.mark.kill,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not COMPILER, reason="needs a C compiler"),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("clock")
    found = run_script("clock_jumps.py", str(folder), launcher=None, **movable_clock(folder))
    # The clock is moved for Python and its JVM alike.
    assert 3600 <= found["moved"] < 3610 and abs(found["apart"]) < 10
    return found


JUMPS = [
    f"{direction} {when} {step}"
    for direction in ("forward", "back")
    for when in ("running", "between runs")
    for step in (2, 3, 4)
]


@pytest.mark.parametrize("jump", [*JUMPS, "to and fro", "fro and to"])
def test_a_jump_of_the_clock_changes_no_row(found: dict[str, Any], jump: str) -> None:
    straight = found["outcomes"]["straight"]
    assert len(straight["rows"]) == 8 and straight["late"] == 0
    assert found["outcomes"][jump] == straight


@pytest.mark.parametrize("jump", ["in a batch", "back in a batch"])
def test_a_jump_while_a_batch_runs_changes_no_row(found: dict[str, Any], jump: str) -> None:
    assert found["outcomes"][jump] == found["outcomes"]["straight"]


def test_a_batch_of_one_device_that_seems_to_take_an_hour_is_an_hour_of_silence_for_the_other(
    found: dict[str, Any],
) -> None:
    assert found["outcomes"]["in a batch of one device"]["late"] <= 1


def test_a_pause_that_the_jump_makes_up_raises_the_watermark_if_that_is_set(
    found: dict[str, Any],
) -> None:
    # Then b's row of 10:25 is late, as in an hour without rows.
    assert found["outcomes"]["rise"]["late"] == 1


def test_a_silent_device_is_left_out_after_any_jump(found: dict[str, Any]) -> None:
    straight = found["left_out"]["straight"]
    assert 0 < straight <= 3
    assert 0 < found["left_out"]["forward"] <= straight
    # Silence does not count until the clock is again where it was: six steps of ten minutes.
    assert straight < found["left_out"]["back"] <= straight + 7


def test_a_watermark_that_follows_the_clock_recovers_from_a_jump(found: dict[str, Any]) -> None:
    forward, back = found["rises"]["forward"], found["rises"]["back"]
    # Rows of the hour that the watermark was ahead are late. Later ones are not.
    assert forward["late"][2] <= 3 and forward["late"][-1] == forward["late"][2]
    assert back["late"][-1] == 0
    assert forward["rows"] >= 2 and back["rows"] >= 5
    assert forward["active"] and back["active"]


def test_a_clock_that_was_set_back_does_not_make_rows_those_of_the_future(
    found: dict[str, Any],
) -> None:
    # The time of the last batch counts, as long as it is the later one.
    assert found["ahead"]["back"] == found["ahead"]["straight"]
    assert found["ahead"]["straight"] == {"rows": 4, "late": 0, "far_ahead": 1}


def test_nothing_waits_for_a_clock_that_was_set_back(found: dict[str, Any]) -> None:
    assert max(found["timed"].values()) < 90
