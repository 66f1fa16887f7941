"""Rows that come more than once."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from corpus.cases import case
from corpus.inputs import EVENTS, VISITS


@case("guide", EVENTS)
def by_guid_forever(events: DataFrame) -> DataFrame:
    """Deduplication by an id, without a watermark."""
    return events.dropDuplicates(["guid"])


@case("guide", EVENTS, quick=True)
def by_guid_and_event_time(events: DataFrame) -> DataFrame:
    """Deduplication by an id and the event time."""
    return events.withWatermark("eventTime", "10 seconds").dropDuplicates(["guid", "eventTime"])


@case("guide", EVENTS)
def within_the_watermark(events: DataFrame) -> DataFrame:
    """Deduplication within the watermark, which is longer than all."""
    return events.withWatermark("eventTime", "10 hours").dropDuplicatesWithinWatermark(["guid"])


@case("neil", EVENTS)
def within_a_short_watermark(events: DataFrame) -> DataFrame:
    """Deduplication within the watermark, of rows that come again when they are forgotten."""
    return events.withWatermark("eventTime", "5 seconds").dropDuplicatesWithinWatermark(["guid"])


@case("playground", VISITS, mode="update")
def visits_of_ten_minutes(visits: DataFrame) -> DataFrame:
    """Deduplication of visits by id and event time, update mode."""
    kept = visits.withWatermark("event_time", "10 minutes")
    return kept.dropDuplicates(["visit_id", "event_time"])


@case("playground", VISITS)
def visits_by_id_alone(visits: DataFrame) -> DataFrame:
    """Deduplication by an id that leaves the event time out, behind a watermark."""
    return visits.withWatermark("event_time", "20 minutes").dropDuplicates(["visit_id"])


@case("playground", VISITS)
def visits_within_the_watermark(visits: DataFrame) -> DataFrame:
    """Deduplication within a watermark of twenty minutes."""
    kept = visits.withWatermark("event_time", "20 minutes")
    return kept.dropDuplicatesWithinWatermark(["visit_id"])


@case("variant", EVENTS)
def by_all_columns(events: DataFrame) -> DataFrame:
    """`distinct` behind a watermark."""
    return events.withWatermark("eventTime", "10 seconds").distinct()


@case("variant", VISITS)
def deduplicated_then_counted(visits: DataFrame) -> DataFrame:
    """Deduplication, then counts in windows."""
    kept = visits.withWatermark("event_time", "10 minutes")
    once = kept.dropDuplicates(["visit_id", "event_time"])
    return once.groupBy(F.window("event_time", "15 minutes")).count()


@case("variant", VISITS)
def within_the_watermark_then_counted(visits: DataFrame) -> DataFrame:
    """Deduplication within the watermark, then counts in windows."""
    kept = visits.withWatermark("event_time", "10 minutes")
    once = kept.dropDuplicatesWithinWatermark(["visit_id"])
    return once.groupBy(F.window("event_time", "15 minutes"), "page").count()
