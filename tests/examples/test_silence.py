"""The example of an input that falls silent: its rows, the expected results, and the measurements."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.silence import measure, outcome, promise, rules, steps, table

WINDOW = steps.window_of


def test_every_input_row_arrives_exactly_once() -> None:
    for source, last in (("live", steps.BACK_IN), ("quiet", steps.STEPS)):
        rows = [s for step in range(steps.BACK_IN + 1) for s in steps.arrives(source, step)]
        assert sorted(rows) == steps.rows_of(range(last))


def test_watermark_rules_differ_in_emitted_windows_and_lost_rows() -> None:
    assert rules.expected("min") == (9, 0, 0)
    assert rules.expected("max") == (39, 40, 600)
    assert rules.expected("idle") == (39, 0, 600)


def test_missing_rows_of_the_quiet_input_count_as_lost() -> None:
    quiet = [(WINDOW(step), "quiet", steps.ROWS) for step in range(steps.STEPS)]
    assert measure.figures(39, quiet) == (39, 0, 0)
    # One result line from the pause is missing, and half of a line from the silence.
    less = [*quiet[:5], *quiet[6:20], (WINDOW(20), "quiet", 10), *quiet[21:]]
    assert measure.figures(9, less) == (9, 20, 10)


def test_only_complete_windows_of_the_live_input_count_as_emitted() -> None:
    given = [
        measure.Given(1, WINDOW(0), "live", 20),
        measure.Given(1, WINDOW(0), "quiet", 20),
        measure.Given(2, WINDOW(1), "live", 19),
    ]
    assert measure.windows_out(given) == 1


def test_window_hold_time_runs_from_possible_emission_to_actual_emission() -> None:
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


def test_the_longest_batch_is_measured_only_during_the_silence() -> None:
    silent = float(WINDOW(steps.SILENCE.start))
    batches = [
        measure.Batch(0, 0.0, 9.0, silent - 1),
        measure.Batch(1, 9.0, 9.5, silent),
        measure.Batch(2, 9.5, 10.25, None),
    ]
    assert measure.longest_batch(batches) == 0.75


def test_batch_times_are_read_from_the_query_progress() -> None:
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


def test_the_silence_check_accepts_the_expected_outcomes() -> None:
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
def test_the_silence_check_rejects_each_difference(change: dict[str, object]) -> None:
    assert len(list(promise.broken(replace(KEPT, **change)))) == 1


def test_a_silence_outcome_survives_a_json_round_trip() -> None:
    assert outcome.Outcome.from_json(json.loads(json.dumps(KEPT.to_json()))) == KEPT


def test_every_silence_replay_has_a_line_in_the_table() -> None:
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
