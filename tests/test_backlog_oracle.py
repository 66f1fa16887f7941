"""What has to come out of an hourly count, by the rule of its watermark alone."""

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


def test_a_row_is_late_by_what_was_read_two_batches_before() -> None:
    # The delay is an hour: 5:00 ends the hours up to 3:00.
    far, late = {"a": at(5)}, {"a": at(2)}
    assert lost([far, late], oracle.by_the_newest) == {"a": 0}
    assert lost([far, {"a": at(5)}, late], oracle.by_the_newest) == {"a": 1}


def test_an_hour_that_ends_at_the_watermark_is_over() -> None:
    batches = [{"a": at(5)}, {"a": at(5)}, {"a": at(3, 3.99, 4)}]
    assert lost(batches, oracle.by_the_newest) == {"a": 2}


def test_an_hour_is_given_out_with_the_rows_that_the_batch_itself_brings() -> None:
    said = oracle.tell([{"a": at(1, 4)}, {"a": at(1)}], oracle.by_the_newest)
    assert said.given == [told.Given(1, HOUR, "a", 2)]
    assert said.left == [("a", 1)]


def test_when_all_is_read_one_more_batch_gives_out_what_has_ended() -> None:
    said = oracle.tell([{"a": at(1, 4)}], oracle.by_the_newest)
    assert said.given == [told.Given(1, HOUR, "a", 1)]
    assert said.batches == 2


def test_there_is_no_such_batch_if_nothing_has_moved() -> None:
    assert oracle.tell([{"a": at(4)}, {"a": at(4)}], oracle.by_the_newest).batches == 2


def test_one_clock_goes_by_the_part_ahead_a_clock_each_by_the_part_behind() -> None:
    batches = [{"a": at(n), "b": at(10 + n)} for n in range(4)]
    assert lost(batches, oracle.by_the_newest) == {"a": 2, "b": 0}
    assert lost(batches, oracle.by_the_oldest) == {"a": 0, "b": 0}


def test_a_part_out_of_order_loses_rows_by_its_own_clock_too() -> None:
    batches = [{"a": at(9), "b": at(9)}, {"a": at(9), "b": at(9)}, {"a": at(1), "b": at(9)}]
    assert lost(batches, oracle.by_the_oldest) == {"a": 1, "b": 0}


def test_a_part_without_rows_yet_is_waited_for() -> None:
    batches: list[oracle.Batch] = [{"a": at(9), "b": []}, {"a": at(9), "b": []}, {"a": at(1)}]
    assert lost(batches, oracle.by_the_oldest) == {"a": 0, "b": 0}


@pytest.mark.parametrize("rule", BOTH)
def test_a_watermark_never_goes_back(rule: oracle.Rule) -> None:
    batches = [{"a": at(9)}, {"a": at(0)}, {"a": at(0)}, {"a": at(0)}]
    assert lost(batches, rule) == {"a": 2}


def test_the_peak_is_what_a_batch_leaves_behind() -> None:
    said = oracle.tell([{"a": at(1, 2, 9)}, {"a": at(9)}], oracle.by_the_newest)
    # Three open hours after the first batch, one after the second: 1:00 and 2:00 are out.
    assert said.peak_state == 3


@pytest.mark.parametrize("rule", BOTH)
@pytest.mark.parametrize("seed", range(5))
def test_every_row_comes_out_once_or_waits_or_is_late(rule: oracle.Rule, seed: int) -> None:
    chance = random.Random(seed)
    batches: list[oracle.Batch] = [
        {split: at(*(chance.uniform(n, n + 9) for _ in range(7))) for split in "abc"}
        for n in range(20)
    ]
    said, read = oracle.tell(batches, rule), show.rows_of(batches)
    assert all(0 <= rows < read[split] for split, rows in said.lost(read).items())
    assert len({(line.hour, line.split) for line in said.given}) == len(said.given)
