"""Reports about late rows, delays, and the column with the event time."""

from __future__ import annotations

from datetime import datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import tidemark
from corpus.cases import case
from corpus.inputs import WORDS, inputs
from corpus.reports.common import AT, DOORS, NO_EMPTY_BATCHES, SPARK, hour, per_hour


def local(day: int) -> tuple[datetime, datetime]:
    """The window of this day of October."""
    start = datetime(2024, 10, day)
    return start, start + timedelta(days=1)


@case(
    "report",
    DOORS,
    report=f"{SPARK}56043",
    stock="late, and dropped",
)
def same_time_in_a_later_batch(doors: DataFrame) -> DataFrame:
    """No delay, and a row of the very time of the newest row before it."""
    return doors.withWatermark("at", "0 seconds").dropDuplicates(["id", "at"])


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("a", "19:00"), ("b", "10:20"), ("c", "10:40")]],
        [[("b", "10:50"), ("c", "18:30"), ("c", "17:59:59")]],
        [[("a", "23:00"), ("b", "18:10")]],
        [[("a", "2024-01-02T12:00:00Z")]],
    ),
    report="https://stackoverflow.com/questions/45579100",
    stock="on time: a watermark holds from the next batch on",
)
def behind_in_one_batch(doors: DataFrame) -> DataFrame:
    """Rows that are hours behind a row of their own batch."""
    return per_hour(doors.withWatermark("at", "1 hour"))


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "10:05")]],
        [[("a", "10:55")]],
        [[("b", "10:10"), ("c", "09:50")]],
        [[("a", "12:30")]],
        [[("a", "14:30"), ("c", "10:15")]],
    ),
    report="https://github.com/laminardb/laminardb/issues/65",
    stock="counted, as long as its window has not ended",
)
def late_in_an_open_window(doors: DataFrame) -> DataFrame:
    """A row behind the watermark whose window is still open."""
    return per_hour(doors.withWatermark("at", "20 minutes"))


@case(
    "report",
    WORDS,
    report="https://coderoad.ru/52944612/Структурированная-потоковая-передача-Spark-"
    "показывает-результаты-слишком-поздно",
    stock="with the batch after it",
    conf=NO_EMPTY_BATCHES,
)
def windows_a_batch_later(words: DataFrame) -> DataFrame:
    """When windows come out that the newest row has closed; without batches that have no data."""
    kept = words.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.window("timestamp", "10 minutes")).count()


@case(
    "report",
    DOORS,
    mode="update",
    report="https://www.waitingforcode.com/apache-spark-structured-streaming/"
    "watermarks-not-grouped-query-why-they-dont-work/read",
    stock="counts them",
)
def late_rows_of_a_count_of_all(doors: DataFrame) -> DataFrame:
    """Late rows of a count of everything, behind a watermark; update mode."""
    return doors.withWatermark("at", "1 minute").agg(F.count("id").alias("n"))


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "10:20")]],
        [[("b", "11:40"), ("b", "11:50")]],
        [[("a", "10:30"), ("b", "13:00")]],
        [[("a", "15:00")]],
        [[("a", "18:00")]],
    ),
    report="https://github.com/hazelcast/hazelcast/issues/20740",
    stock="the watermark waits: the filter comes first",
)
def all_new_rows_filtered_out(doors: DataFrame) -> DataFrame:
    """A filter behind the watermark, which for a while drops every new row."""
    return per_hour(doors.withWatermark("at", "10 minutes").where("id = 'a'"))


@case("report", DOORS, report=f"{SPARK}17202", stock="refused", refused="negative")
def negative_delay(doors: DataFrame) -> DataFrame:
    """A delay of a month less forty days."""
    return per_hour(doors.withWatermark("at", "1 month -40 days"))


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "2024-01-31T23:00:00Z")]],
        [[("a", "2024-02-01T09:00:00Z"), ("a", "11:30")]],
        [[("c", "2024-02-01T13:00:00Z"), ("b", "10:30")]],
        [[("a", "12:05"), ("a", "2024-06-01T00:00:00Z")]],
    ),
    report=f"{SPARK}16304",
    stock="31 days",
)
def delay_of_a_month(doors: DataFrame) -> DataFrame:
    """How long a delay of one month is."""
    return per_hour(doors.withWatermark("at", "1 month"))


@case(
    "report",
    DOORS,
    report=f"{SPARK}54253",
    stock="refused",
    refused="EVENT_TIME_MUST_BE_TOP_LEVEL_COLUMN",
    since="4.2",
)
def time_inside_a_struct(doors: DataFrame) -> DataFrame:
    """A watermark on a field of a struct."""
    return doors.select("id", F.struct("at").alias("event")).withWatermark("event.at", "1 minute")


@case(
    "report",
    inputs(
        {"doors": "id STRING, at TIMESTAMP_NTZ"},
        [[("a", "2024-01-01T10:00:00"), ("b", "2024-01-01T10:04:00")]],
        [[("a", "2024-01-01T13:00:00")]],
    ),
    report=f"{SPARK}33965",
    stock="refused",
    refused="EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE",
)
def times_without_a_zone(doors: DataFrame) -> DataFrame:
    """Session windows of times without a zone, with a watermark."""
    kept = doors.withWatermark("at", "10 minutes")
    return kept.groupBy(F.session_window("at", "5 minutes"), "id").count()


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "2024-03-09T23:30:00-05:00"), ("b", "2024-03-10T00:30:00-05:00")]],
        [[("a", "2024-03-10T23:30:00-04:00"), ("b", "2024-03-11T00:30:00-04:00")]],
        [[("a", "2024-03-12T12:00:00-04:00"), ("b", "2024-03-10T12:00:00-04:00")]],
        [[("a", "2024-03-20T00:00:00-04:00")]],
    ),
    report="http://datalackey.com/2019/09/05/time-travails-with-java-scala-and-apache-spark/",
    stock="days of UTC, shifted by the offset, in summer too",
    conf={"spark.sql.session.timeZone": "America/New_York"},
)
def days_of_a_time_zone(doors: DataFrame) -> DataFrame:
    """Windows of a day in New York, by an offset, across the change to summer time."""
    kept = doors.withWatermark("at", "1 hour")
    return kept.groupBy(F.window("at", "1 day", startTime="5 hours"), "id").count()


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("b", "10:30")]],
        [[("a", "12:00")]],
        [[("b", "10:40"), ("c", "10:50")]],
        [[("c", "13:00")]],
    ),
    report=f"{SPARK}18790",
    stock="the watermark also counts the rows that the filter drops",
    emits=[(hour(10), "a", 1), (hour(10), "b", 1)],
    why="ALL_LATE",
    late=2,
)
def filter_on_the_time(doors: DataFrame) -> DataFrame:
    """A filter on the event time itself, behind the watermark."""
    kept = doors.withWatermark("at", "10 minutes")
    return per_hour(kept.where("at < TIMESTAMP '2024-01-01T11:00:00Z'"), "id")


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "2024-01-01T10:00:00.000500Z")]],
        [[("b", "2024-01-01T10:00:00.000400Z"), ("c", "2024-01-01T10:00:00.000000Z")]],
        [[("d", "2024-01-01T10:00:00.001000Z")]],
        [[("e", "2024-01-01T10:00:00.000900Z")]],
    ),
    report=f"{SPARK}56944",
    stock="on time: a watermark has whole milliseconds, and is rounded down",
    finds=["DELAY_ZERO"],
    late=2,
)
def microseconds_apart(doors: DataFrame) -> DataFrame:
    """Rows that are a few microseconds behind the newest one, and no delay."""
    return doors.withWatermark("at", "0 seconds").dropDuplicates(["id", "at"]).select("id", "at")


def delay_of_a_keyed_input(doors: DataFrame) -> DataFrame:
    delay = "INTERVAL '00:10' HOUR TO MINUTE"
    return per_hour(tidemark.with_watermark(doors, "at", delay, key="doors"), "id")


@case(
    "report",
    DOORS,
    report=f"{SPARK}33456",
    stock="the same as `10 minutes`",
    with_option=delay_of_a_keyed_input,
)
def delay_as_a_literal(doors: DataFrame) -> DataFrame:
    """A delay that is written as an interval of SQL; here with a key."""
    return per_hour(doors.withWatermark("at", "INTERVAL '00:10' HOUR TO MINUTE"), "id")


@case(
    "report",
    DOORS,
    report="https://github.com/druid-io/tranquility/issues/93",
    stock="no row is ever late, whatever its own time",
    finds=["EVENT_TIME_IS_NOW"],
    late=0,
)
def time_of_reading(doors: DataFrame) -> DataFrame:
    """The time of reading as the event time; deduplication within the watermark."""
    kept = doors.withColumn("read", F.current_timestamp()).withWatermark("read", "1 day")
    return kept.dropDuplicatesWithinWatermark(["id"]).select("id", "at")


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "10:00"), ("a", None), ("b", "10:04")]],
        [[("a", None), ("b", None)]],
        [[("a", "10:31"), ("c", None)]],
        [[("a", "13:00")]],
    ),
    report="https://github.com/apache/calcite/pull/5138",
    stock="a row without a time is in no window, and is not counted as late",
    late=0,
)
def rows_without_a_time(doors: DataFrame) -> DataFrame:
    """Sliding windows of rows of which some have no event time, in one batch all."""
    kept = doors.withWatermark("at", "10 minutes")
    return kept.groupBy(F.window("at", "20 minutes", "10 minutes"), "id").count()


@case(
    "report",
    inputs(
        {"doors": AT},
        # Clocks in Copenhagen go back on the 27th at one, by UTC.
        [[("a", "2024-10-25T21:30:00Z"), ("b", "2024-10-25T22:30:00Z")]],
        [[("a", "2024-10-26T21:59:59Z"), ("b", "2024-10-26T22:00:00Z")]],
        [[("a", "2024-10-27T00:50:00Z")]],
        [[("b", "2024-10-27T01:10:00Z"), ("a", "2024-10-27T22:30:00Z")]],
        [[("a", "2024-10-27T23:30:00Z")]],
        [[("a", "2024-10-30T00:00:00Z")]],
    ),
    report="https://github.com/confluentinc/kafka-streams-examples/issues/141",
    stock="days from midnight to midnight, in the winter too",
    emits=[
        (local(25), 1),
        (local(26), 2),
        (local(27), 4),
        (local(28), 1),
    ],
    late=0,
)
def times_shifted_to_a_zone(doors: DataFrame) -> DataFrame:
    """Windows of a day in Copenhagen, of times that are shifted first; summer time ends."""
    there = doors.withColumn("at", F.from_utc_timestamp("at", "Europe/Copenhagen"))
    return there.withWatermark("at", "10 minutes").groupBy(F.window("at", "1 day")).count()


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "2024-10-27T00:50:00Z")]],
        [[("b", "2024-10-27T01:10:00Z"), ("c", "2024-10-27T01:45:00Z")]],
        [[("a", "2024-10-27T03:00:00Z")]],
    ),
    report="https://github.com/confluentinc/kafka-streams-examples/pull/253",
    stock="drops rows whose shifted time has gone back",
    late=1,
)
def hour_that_comes_twice(doors: DataFrame) -> DataFrame:
    """Times that are shifted in this way, in the hour that the clocks repeat; deduplication."""
    there = doors.withColumn("at", F.from_utc_timestamp("at", "Europe/Copenhagen"))
    return there.withWatermark("at", "10 minutes").dropDuplicatesWithinWatermark(["id"])


@case(
    "report",
    inputs(
        {"doors": AT},
        [[("a", "1960-01-01T10:00:00Z"), ("b", "1960-01-01T10:30:00Z")]],
        [[("a", "1960-01-01T13:00:00Z")]],
        [[("a", "1969-12-31T23:30:00Z")]],
        [[("a", "1970-01-01T00:20:00Z")]],
        [[("b", "1965-01-01T00:00:00Z"), ("c", "1970-01-01T02:00:00Z")]],
    ),
    report="https://github.com/apache/paimon/issues/3488",
    stock="drops them: no watermark is earlier than 1970",
    emits=[((datetime(1970, 1, 1), datetime(1970, 1, 1, 1)), "a", 1)],
    late=5,
)
def times_before_1970(doors: DataFrame) -> DataFrame:
    """Event times from before 1970."""
    return per_hour(doors.withWatermark("at", "10 minutes"), "id")
