"""The reference model: the results that an hourly count must emit under each watermark rule."""

from __future__ import annotations

import random

import pytest
from support.backlog import clock, oracle, show, told

HOUR = clock.WINDOW
BOTH = (oracle.by_the_newest, oracle.by_the_oldest)


def at(*hours: float) -> list[int]:
    return [int(hour * HOUR) for hour in hours]


def lost(batches: list[oracle.Batch], rule: oracle.Rule) -> dict[told.Split, int]:
    return oracle.tell(batches, rule).lost(show.rows_of(batches))


def test_the_lateness_of_a_row_depends_on_rows_read_two_batches_earlier() -> None:
    # The delay is an hour: a row at 5:00 closes the hours up to the one that starts at 3:00.
    far, late = {"a": at(5)}, {"a": at(2)}
    assert lost([far, late], oracle.by_the_newest) == {"a": 0}
    assert lost([far, {"a": at(5)}, late], oracle.by_the_newest) == {"a": 1}


def test_an_hour_that_ends_at_the_watermark_is_closed() -> None:
    batches = [{"a": at(5)}, {"a": at(5)}, {"a": at(3, 3.99, 4)}]
    assert lost(batches, oracle.by_the_newest) == {"a": 2}


def test_a_closing_hour_includes_rows_from_the_batch_that_emits_it() -> None:
    outcome = oracle.tell([{"a": at(1, 4)}, {"a": at(1)}], oracle.by_the_newest)
    assert outcome.given == [told.Given(1, HOUR, "a", 2)]
    assert outcome.left == [("a", 1)]


def test_a_final_no_data_batch_emits_the_hours_that_have_closed() -> None:
    outcome = oracle.tell([{"a": at(1, 4)}], oracle.by_the_newest)
    assert outcome.given == [told.Given(1, HOUR, "a", 1)]
    assert outcome.batches == 2


def test_the_final_no_data_batch_is_skipped_if_the_watermark_has_not_advanced() -> None:
    assert oracle.tell([{"a": at(4)}, {"a": at(4)}], oracle.by_the_newest).batches == 2


def test_a_shared_clock_drops_rows_of_a_slow_split_and_split_clocks_do_not() -> None:
    batches = [{"a": at(n), "b": at(10 + n)} for n in range(4)]
    assert lost(batches, oracle.by_the_newest) == {"a": 2, "b": 0}
    assert lost(batches, oracle.by_the_oldest) == {"a": 0, "b": 0}


def test_a_split_with_out_of_order_rows_still_loses_late_rows() -> None:
    batches = [{"a": at(9), "b": at(9)}, {"a": at(9), "b": at(9)}, {"a": at(1), "b": at(9)}]
    assert lost(batches, oracle.by_the_oldest) == {"a": 1, "b": 0}


def test_the_watermark_waits_for_a_split_without_rows() -> None:
    batches: list[oracle.Batch] = [{"a": at(9), "b": []}, {"a": at(9), "b": []}, {"a": at(1)}]
    assert lost(batches, oracle.by_the_oldest) == {"a": 0, "b": 0}


@pytest.mark.parametrize("rule", BOTH)
def test_a_watermark_never_moves_backward(rule: oracle.Rule) -> None:
    batches = [{"a": at(9)}, {"a": at(0)}, {"a": at(0)}, {"a": at(0)}]
    assert lost(batches, rule) == {"a": 2}


def test_peak_state_counts_the_open_hours_after_each_batch() -> None:
    outcome = oracle.tell([{"a": at(1, 2, 9)}, {"a": at(9)}], oracle.by_the_newest)
    # Three open hours after the first batch, one after the second: 1:00 and 2:00 are closed.
    assert outcome.peak_state == 3


@pytest.mark.parametrize("rule", BOTH)
@pytest.mark.parametrize("seed", range(5))
def test_every_row_is_emitted_once_kept_in_state_or_dropped_as_late(
    rule: oracle.Rule, seed: int
) -> None:
    chance = random.Random(seed)
    batches: list[oracle.Batch] = [
        {split: at(*(chance.uniform(n, n + 9) for _ in range(7))) for split in "abc"}
        for n in range(20)
    ]
    outcome, read = oracle.tell(batches, rule), show.rows_of(batches)
    assert all(0 <= rows < read[split] for split, rows in outcome.lost(read).items())
    assert len({(line.hour, line.split) for line in outcome.given}) == len(outcome.given)
