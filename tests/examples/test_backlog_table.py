"""The table of a backlog run, and the check that compares a run with the reference model."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.backlog import promise, table, told

READ = {0: 10, 1: 30}
STOCK = told.Told(
    given=[told.Given(2, 0, 0, 8), told.Given(3, 3600, 1, 4)],
    left=[(0, 2), (1, 5)],
    peak_state=7,
    batches=4,
    said_late=3,
)


def test_lost_rows_are_rows_neither_emitted_nor_left_in_open_hours() -> None:
    assert STOCK.lost(READ) == {0: 0, 1: 21}


def test_a_table_line_shows_lost_rows_and_reported_late_rows() -> None:
    heading, rule, line = table.table([("stock", STOCK)], READ).splitlines()[:3]
    assert line.split()[-1] == "3"
    for figure in ("21 of 40", "52.5 %", "1 of 2", " 1: 70.0 %"):
        assert figure in line
    assert len(heading) == len(rule) == len(line)


def test_a_run_without_lost_rows_shows_no_worst_split() -> None:
    whole = replace(STOCK, left=[(0, 2), (1, 26)], said_late=None)
    line = table.table([("Tidemark", whole)], READ).splitlines()[2]
    assert "0 of 40" in line
    assert ":" not in line


def test_a_backlog_result_survives_a_json_round_trip() -> None:
    assert told.Told.from_json(json.loads(json.dumps(STOCK.to_json()))) == STOCK


def test_the_backlog_check_accepts_expected_results_in_any_order() -> None:
    other = replace(STOCK, given=STOCK.given[::-1], said_late=None)
    assert list(promise.differences("stock", STOCK, other)) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"given": STOCK.given[:1]}, "did not give out 1 lines, first batch 3, 1, hour 1970-01-01"),
        ({"given": [*STOCK.given, told.Given(3, 7200, 0, 1)]}, "gave out 1 lines that it should"),
        ({"given": [*STOCK.given, STOCK.given[0]]}, "gave out 1 lines that it should not"),
        ({"left": [(0, 2), (1, 6)]}, "in open hours"),
        ({"peak_state": 8}, "peak_state is 8; it should be 7"),
        ({"batches": 5}, "batches is 5; it should be 4"),
    ],
)
def test_the_backlog_check_reports_each_difference_from_the_expected_results(
    change: dict[str, object], words: str
) -> None:
    (difference,) = promise.differences("stock", replace(STOCK, **change), STOCK)
    assert words in difference


def test_the_backlog_check_rejects_a_run_that_emits_nothing() -> None:
    nothing = told.Told()
    assert list(promise.differences("stock", nothing, nothing)) == ["stock gave out nothing."]
