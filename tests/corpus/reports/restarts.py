"""Reports about restarts with a changed query or setting, and about triggers that end."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from corpus.cases import case
from corpus.inputs import inputs
from corpus.reports.common import AT, DOORS, EACH, SPARK, per_hour


@case(
    "report",
    DOORS,
    once=True,
    report=f"{SPARK}21746",
    stock="a window comes out with the run after the one that has closed it",
)
def each_run_one_batch(doors: DataFrame) -> DataFrame:
    """Counts in windows, each step a run of its own with `Trigger.Once`."""
    return per_hour(doors.withWatermark("at", "10 minutes"), "id")


POLICY = "spark.sql.streaming.multipleWatermarkPolicy"

TWO = inputs(
    EACH,
    [[("a", "10:00")], [("b", "10:05")]],
    [[("a", "13:00")], [("b", "10:20")]],
    [[("a", "14:00")], [("b", "10:30")]],
    [[("a", "15:00")], [("b", "10:40"), ("b", "12:00")]],
    [[("a", "20:00")], [("b", "20:00")]],
)


def united(left: DataFrame, right: DataFrame) -> DataFrame:
    left_rows, right_rows = (each.withWatermark("at", "10 minutes") for each in (left, right))
    return per_hour(left_rows.union(right_rows), "id")


def united_by_the_fastest(left: DataFrame, right: DataFrame) -> DataFrame:
    left.sparkSession.conf.set(POLICY, "max")
    return united(left, right)


@case(
    "report",
    TWO,
    report=f"{SPARK}21701",
    stock="keeps to the policy `min` of the checkpoint",
    conf={POLICY: "min"},
    later=united_by_the_fastest,
    late=0,
)
def policy_set_before_a_restart(left: DataFrame, right: DataFrame) -> DataFrame:
    """A union of two inputs, restarted after the policy was set to `max`."""
    return united(left, right)


def renamed_sums(doors: DataFrame) -> DataFrame:
    kept = doors.withWatermark("at", "10 minutes")
    return kept.groupBy(F.window("at", "1 hour")).agg(F.max("id").alias("newer_name"))


@case(
    "report",
    DOORS,
    report=f"{SPARK}24173",
    stock="goes on: a name may change, a type may not",
    later=renamed_sums,
)
def renamed_before_a_restart(doors: DataFrame) -> DataFrame:
    """An aggregate that has another name after a restart."""
    kept = doors.withWatermark("at", "10 minutes")
    return kept.groupBy(F.window("at", "1 hour")).agg(F.max("id").alias("name"))


def summed(doors: DataFrame) -> DataFrame:
    kept = doors.withWatermark("at", "10 minutes")
    return kept.groupBy(F.window("at", "1 hour")).agg(F.sum(F.length("id")).alias("name"))


@case(
    "report",
    DOORS,
    report=f"{SPARK}24173",
    stock="refused",
    refused="STATE_STORE",
    later=summed,
)
def another_type_after_a_restart(doors: DataFrame) -> DataFrame:
    """An aggregate that has another type after a restart."""
    return renamed_before_a_restart(doors)


def all_through(doors: DataFrame) -> DataFrame:
    return doors.withWatermark("at", "10 minutes").where("true").dropDuplicates(["id", "at"])


@case(
    "report",
    DOORS,
    report=f"{SPARK}48149",
    stock="goes on, with the watermark of the rows that were filtered out",
    later=all_through,
)
def no_rows_before_a_restart(doors: DataFrame) -> DataFrame:
    """A filter that is always false behind the watermark, and true after a restart."""
    return doors.withWatermark("at", "10 minutes").where("false").dropDuplicates(["id", "at"])


def over_more_partitions(doors: DataFrame) -> DataFrame:
    doors.sparkSession.conf.set("spark.sql.shuffle.partitions", "3")
    return per_hour(doors.withWatermark("at", "10 minutes"), "id")


@case(
    "report",
    DOORS,
    report=f"{SPARK}17216",
    stock="keeps the number of the checkpoint",
    conf={"spark.sql.shuffle.partitions": "2"},
    later=over_more_partitions,
)
def partitions_set_before_a_restart(doors: DataFrame) -> DataFrame:
    """Counts in windows, restarted after the number of shuffle partitions was raised."""
    return per_hour(doors.withWatermark("at", "10 minutes"), "id")


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "10:20")]],
        [[("a", "10:40"), ("b", "11:30")]],
        [[("c", "11:40")]],
    ),
    available_now=True,
    report=f"{SPARK}37213",
    stock="the last window stays until a run has later rows",
    why="FLOWING",
    finds=["LAST_WINDOW_STAYS"],
)
def ends_before_its_last_window(doors: DataFrame) -> DataFrame:
    """Counts in windows, of which the last is not over when the run ends."""
    return per_hour(doors.withWatermark("at", "10 minutes"))


def with_a_longer_delay(doors: DataFrame) -> DataFrame:
    return per_hour(doors.withWatermark("at", "2 hours"), "id")


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "10:20")]],
        [[("a", "12:00")]],
        [[("b", "11:10"), ("b", "12:30")]],
        [[("c", "11:40"), ("c", "14:30")]],
        [[("c", "11:50"), ("c", "13:00")]],
        [[("a", "18:00")]],
    ),
    report="https://mcp.waymark.network/r/788b7e3c-98f8-48be-88cf-9f9ed8c49459",
    stock="goes on with the new delay; its watermark does not go back",
    later=with_a_longer_delay,
    late=1,
)
def longer_delay_after_a_restart(doors: DataFrame) -> DataFrame:
    """Counts in windows, restarted with a longer delay."""
    return per_hour(doors.withWatermark("at", "10 minutes"), "id")
