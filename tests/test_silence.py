"""The input that falls silent: what arrives, what has to come out, and how it is measured."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.silence import measure, outcome, promise, rules, steps, table

WINDOW = steps.window_of


def test_nothing_is_left_out_and_nothing_comes_twice() -> None:
    for source, last in (("live", steps.BACK_IN), ("quiet", steps.STEPS)):
        rows = [s for step in range(steps.BACK_IN + 1) for s in steps.arrives(source, step)]
        assert sorted(rows) == steps.rows_of(range(last))


def test_the_rules_differ_in_what_is_out_and_in_what_is_lost() -> None:
    assert rules.expected("min") == (9, 0, 0)
    assert rules.expected("max") == (39, 40, 600)
    assert rules.expected("idle") == (39, 0, 600)


def test_what_is_missing_of_the_quiet_input_was_lost() -> None:
    quiet = [(WINDOW(step), "quiet", steps.ROWS) for step in range(steps.STEPS)]
    assert measure.figures(39, quiet) == (39, 0, 0)
    # One line of the pause is missing, and a half of one of the silence.
    less = [*quiet[:5], *quiet[6:20], (WINDOW(20), "quiet", 10), *quiet[21:]]
    assert measure.figures(9, less) == (9, 20, 10)


def test_only_whole_windows_of_the_live_input_are_out() -> None:
    given = [
        measure.Given(1, WINDOW(0), "live", 20),
        measure.Given(1, WINDOW(0), "quiet", 20),
        measure.Given(2, WINDOW(1), "live", 19),
    ]
    assert measure.windows_out(given) == 1


def test_a_window_is_held_from_when_it_could_be_out_to_when_it_was() -> None:
    newest = float(WINDOW(1) + steps.DELAY)
    batches = [
        measure.Batch(0, 0.0, 1.0, newest - 1),
        measure.Batch(1, 1.5, 2.0, newest),
        measure.Batch(2, 2.1, 2.2, None),
        measure.Batch(3, 7.0, 7.5, None),
    ]
    at_once = measure.Given(2, WINDOW(0), "live", 20)
    assert measure.held([at_once], batches) == [pytest.approx(0.1)]
    assert measure.held([at_once._replace(batch=3)], batches) == [pytest.approx(5.0)]


def test_the_longest_batch_is_one_of_the_silence() -> None:
    silent = float(WINDOW(steps.SILENCE.start))
    batches = [
        measure.Batch(0, 0.0, 9.0, silent - 1),
        measure.Batch(1, 9.0, 9.5, silent),
        measure.Batch(2, 9.5, 10.25, None),
    ]
    assert measure.longest_batch(batches) == 0.75


def test_batches_are_read_from_progress() -> None:
    ran = {
        "batchId": 4,
        "timestamp": "1970-01-01T00:00:10.500Z",
        "durationMs": {"addBatch": 200, "triggerExecution": 250},
        "eventTime": {"max": "1970-01-01T00:01:00.000Z"},
    }
    between = {**ran, "batchId": 5, "durationMs": {"triggerExecution": 1}}
    without_rows = {**ran, "batchId": 5, "eventTime": {}}
    assert measure.batches_of([ran, between, without_rows]) == [
        (4, 10.5, 10.75, 60.0),
        (5, 10.5, 10.75, None),
    ]


KEPT = outcome.Outcome("idle", rules.expected("idle"), [0.1, 7.9], 0.5, 31, 80, 600)


def test_the_promise_is_kept() -> None:
    assert list(promise.broken(KEPT)) == []
    stock = outcome.Outcome("min", rules.expected("min"), [0.1, 31.0], 0.5, 61, 80, 0)
    assert list(promise.broken(stock)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"figures": rules.Figures(38, 0, 600)},
        {"figures": rules.Figures(39, 1, 599)},
        {"held": [0.1, 9.0]},
        {"said_late": 40},
    ],
)
def test_each_difference_breaks_it(change: dict[str, object]) -> None:
    assert len(list(promise.broken(replace(KEPT, **change)))) == 1


def test_an_outcome_survives_its_way_between_processes() -> None:
    assert outcome.Outcome.from_json(json.loads(json.dumps(KEPT.to_json()))) == KEPT


def test_every_replay_has_a_line() -> None:
    line = table.table([KEPT]).splitlines()[2]
    assert "idle_after 8 seconds" in line
    assert line.split()[4:] == [
        "39",
        "of",
        "40",
        "4.0",
        "7.9",
        *["0", "of", "60", "600", "of", "600", "600", "31"],
    ]
