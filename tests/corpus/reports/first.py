"""The reports that were tried first: what Tidemark once got wrong."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import tidemark
from corpus.cases import case
from corpus.inputs import inputs
from corpus.reports.common import AT, DOORS, SPARK, per_hour


def old_columns_and_a_key(doors: DataFrame) -> DataFrame:
    marked = tidemark.with_watermark(doors, "at", "10 minutes", key="doors", split_by="id")
    return marked.groupBy(F.window(doors.at, "1 hour"), doors.id).count()


@case(
    "report",
    DOORS,
    report=f"{SPARK}17371",
    stock="refused in append mode",
    refused="STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
    with_option=old_columns_and_a_key,
)
def columns_from_before_the_watermark(doors: DataFrame) -> DataFrame:
    """Columns of the DataFrame that has no watermark yet, counted in windows; here a keyed one."""
    marked = doors.withWatermark("at", "10 minutes")
    return marked.groupBy(F.window(doors.at, "1 hour"), doors.id).count()


def old_columns(doors: DataFrame, keyed: bool) -> DataFrame:
    later_doors = doors.select(doors.id.alias("id2"), doors.at.alias("at2"))
    if keyed:
        left = tidemark.with_watermark(doors, "at", "10 minutes", key="doors")
        right = tidemark.with_watermark(later_doors, "at2", "10 minutes", key="again")
    else:
        left, right = (
            doors.withWatermark("at", "10 minutes"),
            later_doors.withWatermark("at2", "10 minutes"),
        )
    hour = F.expr("INTERVAL 1 HOUR")
    within = (
        (doors.id == later_doors.id2)
        & (later_doors.at2 > doors.at)
        & (later_doors.at2 <= doors.at + hour)
    )
    return left.join(right, within)


def old_columns_of_keyed_inputs(doors: DataFrame) -> DataFrame:
    return old_columns(doors, keyed=True)


@case("report", DOORS, stock="finds them", with_option=old_columns_of_keyed_inputs)
def join_on_columns_from_before(doors: DataFrame) -> DataFrame:
    """A join whose condition names such columns; here with keyed watermarks."""
    return old_columns(doors, keyed=False)


def marked_twice_with_a_key(doors: DataFrame) -> DataFrame:
    once = tidemark.with_watermark(doors, "at", "10 minutes", key="doors")
    return per_hour(tidemark.with_watermark(once, "at", "10 minutes", key="doors"), "id")


@case(
    "report",
    DOORS,
    stock="refused",
    refused="Redefining watermark",
    differs="the same call twice counts once",
    with_option=marked_twice_with_a_key,
)
def watermark_set_twice(doors: DataFrame) -> DataFrame:
    """The same watermark set twice on one column; here with the same key."""
    once = doors.withWatermark("at", "10 minutes")
    return per_hour(once.withWatermark("at", "10 minutes"), "id")


SPELLINGS = inputs(
    {"readings": AT},
    [[("Boiler", "12:00"), ("mill", "12:30")]],
    [[("boiler", "13:10"), ("MILL", "13:20")]],
    [[("BOILER", "14:00"), ("Mill", "14:10")]],
    [[("boiler", "16:00"), ("mill", "16:00")]],
)


def by_spelling(readings: DataFrame) -> DataFrame:
    parts = tidemark.SplitBy(F.expr("id COLLATE UTF8_LCASE"), expected=["BOILER", "mill"])
    return per_hour(tidemark.with_watermark(readings, "at", "0 seconds", split_by=parts))


@case(
    "report",
    SPELLINGS,
    report=f"{SPARK}45951",
    stock="one clock for all",
    with_option=by_spelling,
)
def spellings_of_a_device(readings: DataFrame) -> DataFrame:
    """Names of devices that differ in case alone; here each device is a split."""
    return per_hour(readings.withWatermark("at", "0 seconds"))


ZEROS = inputs(
    {"readings": "id DOUBLE, at TIMESTAMP"},
    [[(0.0, "12:00"), (1.0, "12:00")]],
    [[(-0.0, "13:10"), (1.0, "13:20")]],
    [[(-0.0, "14:00"), (1.0, "14:00")]],
    [[(0.0, "16:00"), (1.0, "16:00")]],
)


def by_number(readings: DataFrame) -> DataFrame:
    marked = tidemark.with_watermark(readings, "at", "0 seconds", split_by="id")
    return per_hour(marked, "id")


@case("report", ZEROS, report=f"{SPARK}23043", stock="one group", with_option=by_number)
def zero_and_minus_zero(readings: DataFrame) -> DataFrame:
    """`0.0` and `-0.0` as the name of a group; here of a split as well."""
    return per_hour(readings.withWatermark("at", "0 seconds"), "id")
