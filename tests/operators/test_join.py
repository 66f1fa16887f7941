"""Two streams joined on a time range: the state of each side is bounded by the other side's watermark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from support.feeds import Feed, clock
from support.streams import Stepper

from tidemark import with_watermark

pytestmark = pytest.mark.usefixtures("one_partition", "generated_code")

SHOWN = "ad LONG, shown TIMESTAMP"
CLICKED = "clicked_ad LONG, clicked TIMESTAMP"
WITHIN_TWO_MINUTES = (
    "clicked_ad = ad AND clicked >= shown AND clicked <= shown + INTERVAL 2 MINUTES"
)


def joined(impressions: Feed, clicks: Feed, how: str) -> DataFrame:
    left = with_watermark(impressions.stream(), "shown", "0 seconds", key="impressions")
    right = with_watermark(clicks.stream(), "clicked", "0 seconds", key="clicks")
    return left.join(right, F.expr(WITHIN_TWO_MINUTES), how)


def test_an_unmatched_row_is_emitted_once_the_other_sides_watermark_passes_it(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    impressions, clicks = feed("impressions", SHOWN), feed("clicks", CLICKED)
    stepper = run(joined(impressions, clicks, "left_outer"))
    impressions.add({"ad": 1, "shown": "10:00"}, {"ad": 2, "shown": "10:03"})
    clicks.add({"clicked_ad": 1, "clicked": "10:01"}, {"clicked_ad": 9, "clicked": "10:10"})
    # The impressions' watermark is only at 10:03; the clicks' watermark at 10:10 decides about ad 2.
    assert stepper.step() == [
        (1, clock("10:00"), 1, clock("10:01")),
        (2, clock("10:03"), None, None),
    ]


def test_an_unmatched_row_stays_in_state_while_the_other_side_can_match_it(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    impressions, clicks = feed("impressions", SHOWN), feed("clicks", CLICKED)
    stepper = run(joined(impressions, clicks, "left_outer"))
    impressions.add({"ad": 1, "shown": "10:00"}, {"ad": 2, "shown": "12:00"})
    clicks.add({"clicked_ad": 9, "clicked": "10:01"})
    assert stepper.step() == []
    clicks.add({"clicked_ad": 1, "clicked": "10:02"})
    assert stepper.step() == [(1, clock("10:00"), 1, clock("10:02"))]


def test_a_join_drops_a_row_behind_the_watermark_of_its_own_side(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    impressions, clicks = feed("impressions", SHOWN), feed("clicks", CLICKED)
    stepper = run(joined(impressions, clicks, "inner"))
    impressions.add({"ad": 1, "shown": "10:00"})
    clicks.add({"clicked_ad": 9, "clicked": "10:30"})
    assert stepper.step() == []
    # Late by the clicks' watermark, although the impressions' watermark is still at 10:00.
    clicks.add({"clicked_ad": 1, "clicked": "10:01"})
    impressions.add({"ad": 2, "shown": "10:29"})
    assert stepper.step() == []
    clicks.add({"clicked_ad": 2, "clicked": "10:31"})
    assert stepper.step() == [(2, clock("10:29"), 2, clock("10:31"))]


@pytest.mark.more
def test_joined_rows_can_be_counted_by_both_event_times(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    impressions, clicks = feed("impressions", SHOWN), feed("clicks", CLICKED)
    counted = (
        joined(impressions, clicks, "inner")
        .groupBy(F.window("shown", "10 minutes"), "clicked")
        .count()
        .select("window.start", "clicked", "count")
    )
    stepper = run(counted)
    impressions.add(*({"ad": ad, "shown": "10:01"} for ad in (1, 2, 3)))
    clicks.add(
        {"clicked_ad": 1, "clicked": "10:02"},
        {"clicked_ad": 2, "clicked": "10:02"},
        {"clicked_ad": 3, "clicked": "10:03"},
    )
    assert stepper.step() == []
    impressions.add({"ad": 9, "shown": "11:00"})
    clicks.add({"clicked_ad": 9, "clicked": "11:00"})
    assert stepper.step() == [
        (clock("10:00"), clock("10:02"), 2),
        (clock("10:00"), clock("10:03"), 1),
    ]


@pytest.mark.more
def test_a_three_way_join_emits_matching_rows(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    impressions, clicks = feed("impressions", SHOWN), feed("clicks", CLICKED)
    sales = feed("sales", "sold_ad LONG, sold TIMESTAMP")
    third = with_watermark(sales.stream(), "sold", "0 seconds", key="sales")
    stepper = run(
        joined(impressions, clicks, "inner")
        .join(
            third,
            F.expr("sold_ad = ad AND sold >= clicked AND sold <= clicked + INTERVAL 1 HOUR"),
        )
        .select("ad", "shown", "clicked", "sold")
    )
    impressions.add({"ad": 1, "shown": "10:00"})
    clicks.add({"clicked_ad": 1, "clicked": "10:01"})
    sales.add({"sold_ad": 1, "sold": "10:30"})
    # A join emits a match in the batch in which its rows meet.
    assert stepper.step() == [(1, clock("10:00"), clock("10:01"), clock("10:30"))]
    sales.add({"sold_ad": 1, "sold": "10:45"})
    assert stepper.step() == [(1, clock("10:00"), clock("10:01"), clock("10:45"))]


@pytest.mark.more
def test_duplicates_are_dropped_after_a_join_with_two_event_times(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    impressions, clicks = feed("impressions", SHOWN), feed("clicks", CLICKED)
    once = joined(impressions, clicks, "inner").dropDuplicates(["ad", "shown"])
    stepper = run(once.select("ad", "shown"))
    impressions.add({"ad": 1, "shown": "10:00"})
    clicks.add({"clicked_ad": 1, "clicked": "10:01"})
    assert stepper.step() == [(1, clock("10:00"))]
    clicks.add({"clicked_ad": 1, "clicked": "10:02"})
    assert stepper.step() == []
