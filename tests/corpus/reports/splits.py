"""Reports about parts of an input, such as devices and partitions, and about wrong times in one.

An option of Tidemark solves each. So each has a second query, with the option.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

import tidemark
from corpus.cases import case
from corpus.inputs import inputs
from corpus.reports.common import AT, hour, per_hour

JUMP = inputs(
    {"doors": AT},
    [[("a", "10:00"), ("b", "10:10")]],
    [[("c", "2100-01-01T00:00:00Z")]],
    [[("a", "10:20"), ("b", "11:15")]],
    [[("a", "13:00"), ("b", "12:20")]],
    [[("a", "15:00")]],
)


def limited(doors: DataFrame) -> DataFrame:
    marked = tidemark.with_watermark(doors, "at", "10 minutes", max_ahead="1 day")
    return per_hour(marked, "id")


@case(
    "report",
    JUMP,
    report="https://github.com/turbolytics/sql-flow/issues/358",
    stock="drops every later row",
    differs="with `max_ahead`, a row from the future advances no watermark",
    with_option=limited,
    quick=True,
)
def one_row_from_the_future(doors: DataFrame) -> DataFrame:
    """One row with a time in the future, and correct rows after it."""
    return per_hour(doors.withWatermark("at", "10 minutes"), "id")


FLEET = inputs(
    {"readings": AT},
    [[("fast", "12:00"), ("slow", "10:00")]],
    [[("fast", "12:30"), ("slow", "10:20")]],
    [[("slow", "11:10"), ("slow", "11:50")]],
    [[("fast", "14:10"), ("slow", "14:05")]],
    [[("fast", "18:00"), ("slow", "18:00")]],
)


def by_device(readings: DataFrame) -> DataFrame:
    marked = tidemark.with_watermark(readings, "at", "10 minutes", split_by="id")
    return per_hour(marked, "id")


@case(
    "report",
    FLEET,
    report="https://github.com/quixio/quix-streams/pull/591",
    stock="drops the rows of the slower device",
    differs="with `split_by`, the slowest device holds the watermark",
    with_option=by_device,
    quick=True,
)
def devices_out_of_step(readings: DataFrame) -> DataFrame:
    """Devices that send at different times, of which one is hours behind."""
    return per_hour(readings.withWatermark("at", "10 minutes"), "id")


@case(
    "report",
    FLEET,
    report="https://github.com/volga-project/volga/issues/169",
    stock="drops the rows of the slower device",
    differs="with `split_by`, the clock of each device survives the restart",
    with_option=by_device,
    available_now=True,
    emits=[
        (hour(10), "slow", 2),
        (hour(11), "slow", 2),
        (hour(12), "fast", 2),
        (hour(14), "fast", 1),
        (hour(14), "slow", 1),
    ],
    late=0,
)
def devices_out_of_step_in_runs(readings: DataFrame) -> DataFrame:
    """The same, each step a run of its own: rows that are on time before a restart."""
    return per_hour(readings.withWatermark("at", "10 minutes"), "id")


PARTITIONS = inputs(
    {"records": "part INT, at TIMESTAMP"},
    [[(0, "12:00"), (0, "12:40")]],
    [[(1, "10:00"), (1, "10:50")]],
    [[(2, "09:30"), (0, "13:10")]],
    [[(2, "14:00"), (1, "14:10"), (0, "14:20")]],
    [[(2, "18:00"), (1, "18:00"), (0, "18:00")]],
)


def by_expected_partition(records: DataFrame) -> DataFrame:
    parts = tidemark.SplitBy("part", expected=range(3))
    return per_hour(tidemark.with_watermark(records, "at", "10 minutes", split_by=parts), "part")


@case(
    "report",
    PARTITIONS,
    report="https://github.com/apache/beam/issues/19411",
    stock="drops the rows of those that are read later",
    differs="with `SplitBy(expected=...)`, the watermark waits for each partition",
    with_option=by_expected_partition,
)
def partitions_read_in_turn(records: DataFrame) -> DataFrame:
    """Partitions of a backlog of which the newest one is read first."""
    return per_hour(records.withWatermark("at", "10 minutes"), "part")


NEVER = inputs(
    {"records": "part INT, at TIMESTAMP"},
    [[(0, "12:00"), (1, "10:00")]],
    [[(0, "12:40"), (1, "10:50")]],
    [[(0, "13:30"), (1, "12:20")]],
    [[(0, "15:10"), (1, "15:10")]],
    [[(0, "18:00"), (1, "18:00")]],
)


def without_the_silent_one(records: DataFrame) -> DataFrame:
    parts = tidemark.SplitBy("part", expected=range(3))
    marked = tidemark.with_watermark(
        records, "at", "10 minutes", split_by=parts, idle_after="1 millisecond"
    )
    return per_hour(marked, "part")


@case(
    "report",
    NEVER,
    report="https://github.com/apache/beam/issues/20908",
    stock="goes on, and drops rows of the partition that is behind",
    differs="with `expected` and `idle_after`, a partition without rows holds nothing",
    available_now=True,
    conf={"spark.tidemark.downtimeIsSilence": "true"},
    with_option=without_the_silent_one,
    late=0,
    emits=[
        (hour(10), 1, 2),
        (hour(12), 0, 2),
        (hour(12), 1, 1),
        (hour(13), 0, 1),
        (hour(15), 0, 1),
        (hour(15), 1, 1),
    ],
)
def partition_without_a_row(records: DataFrame) -> DataFrame:
    """Three partitions, of which one never has a row; scheduled runs."""
    return per_hour(records.withWatermark("at", "10 minutes"), "part")
