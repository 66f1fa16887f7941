"""Joins of two streams, and of a stream and a table."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from corpus.cases import case
from corpus.inputs import APART, IN_STEP, IN_STEP_AND_ON, PAIRS, READINGS, VALUES

WITHIN_AN_HOUR = """
    impressionAdId = clickAdId
    AND clickTime BETWEEN impressionTime AND impressionTime + INTERVAL 1 HOUR
"""
WITHIN_A_MINUTE = WITHIN_AN_HOUR.replace("1 HOUR", "1 MINUTE")

BOUNDED = "a join is bounded on each side, so what is behind it comes out earlier"
UNMATCHED = "each side is evicted by the other's watermark, so unmatched rows come out earlier"
TWO_TIMES = "several event-time columns in one operator run"


def ads(
    impressions: DataFrame,
    clicks: DataFrame,
    how: str,
    *,
    delays: tuple[str, str] = ("2 hours", "3 hours"),
    on: str = WITHIN_AN_HOUR,
) -> DataFrame:
    left = impressions.withWatermark("impressionTime", delays[0])
    right = clicks.withWatermark("clickTime", delays[1])
    return left.join(right, F.expr(on), how)


@case("guide", IN_STEP, quick=True)
def clicks_of_impressions(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Inner join of impressions and clicks on a time range."""
    return ads(impressions, clicks, "inner")


@case("variant", APART)
def clicks_far_ahead(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """The same, with clicks that are ahead of the impressions."""
    return ads(impressions, clicks, "inner")


@case("guide", IN_STEP)
def inner_join_without_watermark(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Inner join on the ids, without watermarks."""
    return impressions.join(clicks, F.expr("impressionAdId = clickAdId"))


@case("guide", IN_STEP)
def left_outer_join(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Left outer join on a time range."""
    return ads(impressions, clicks, "leftOuter")


@case("guide", IN_STEP)
def right_outer_join(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Right outer join on a time range."""
    return ads(impressions, clicks, "rightOuter")


@case("guide", IN_STEP)
def full_outer_join(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Full outer join on a time range."""
    return ads(impressions, clicks, "fullOuter")


@case("guide", IN_STEP)
def left_semi_join(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Left semi join on a time range."""
    return ads(impressions, clicks, "leftSemi")


@case("variant", APART, differs=UNMATCHED, same_rows=True)
def left_outer_join_far_ahead(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Left outer join, with clicks that are ahead of the impressions."""
    return ads(impressions, clicks, "leftOuter")


@case("variant", APART, differs=UNMATCHED, same_rows=True)
def full_outer_join_far_ahead(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Full outer join, with clicks that are ahead of the impressions."""
    return ads(impressions, clicks, "fullOuter")


@case("guide", IN_STEP)
def watermark_on_the_right_alone(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Left outer join with a watermark on the right side only."""
    kept = clicks.withWatermark("clickTime", "3 hours")
    return impressions.join(kept, F.expr(WITHIN_AN_HOUR), "leftOuter")


@case("guide", IN_STEP, refused="Stream-stream LeftOuter join")
def outer_join_without_watermark(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Left outer join without a watermark."""
    return impressions.join(clicks, F.expr(WITHIN_AN_HOUR), "leftOuter")


@case("guide", IN_STEP)
def counts_joined_by_window(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Both inputs counted in windows, the counts joined by the window."""
    shown = impressions.withWatermark("impressionTime", "2 hours")
    clicked = clicks.withWatermark("clickTime", "3 hours")
    by_click = clicked.groupBy(F.window(clicked.clickTime, "1 hour")).count()
    by_show = shown.groupBy(F.window(shown.impressionTime, "1 hour")).agg(F.count("*").alias("n"))
    return by_click.join(by_show, "window", "inner")


@case("guide", IN_STEP)
def counts_of_ads_joined_by_window(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """The same by ad as well."""
    shown = impressions.withWatermark("impressionTime", "2 hours")
    clicked = clicks.withWatermark("clickTime", "3 hours")
    by_click = clicked.groupBy(clicked.clickAdId, F.window(clicked.clickTime, "1 hour")).count()
    by_show = shown.groupBy(shown.impressionAdId, F.window("impressionTime", "1 hour")).count()
    return by_click.join(by_show, "window", "inner")


@case("guide", IN_STEP_AND_ON, differs=BOUNDED, same_rows=True)
def joined_then_counted(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Inner join, then counts in windows of the click's time."""
    joined = ads(impressions, clicks, "inner")
    return joined.groupBy("clickAdId", F.window("clickTime", "1 hour")).count()


@case("guide", IN_STEP_AND_ON, differs=BOUNDED, same_rows=True)
def outer_joined_then_counted(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Left outer join, then counts in windows of the click's time."""
    joined = ads(impressions, clicks, "leftOuter")
    return joined.groupBy("clickAdId", F.window("clickTime", "1 hour")).count()


@case("guide", IN_STEP, refused="Column window are ambiguous")
def outer_joined_then_counted_by_columns(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """The same as the guide's Python has it, by columns of the joined DataFrame."""
    joined = ads(impressions, clicks, "leftOuter")
    return joined.groupBy(joined.clickAdId, F.window(joined.clickTime, "1 hour")).count()


@case("playground", IN_STEP, conf={"spark.sql.streaming.noDataMicroBatches.enabled": "false"})
def counted_without_empty_batches(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Left outer join, then counts in windows, without batches that have no data."""
    joined = ads(impressions, clicks, "leftOuter", delays=("20 minutes", "10 minutes"))
    return joined.groupBy(F.window("clickTime", "1 hour")).count()


@case("playground", VALUES)
def three_inputs_joined(data1: DataFrame, data2: DataFrame, data3: DataFrame) -> DataFrame:
    """Two left outer joins one behind the other, on value and event time."""
    first, second, third = (
        data.withWatermark("event_time", "0 seconds") for data in (data1, data2, data3)
    )
    pairs = first.join(second, ["value", "event_time"], "leftOuter")
    return pairs.join(third, ["value", "event_time"], "leftOuter")


def shown_and_clicked(left: DataFrame, right: DataFrame, how: str, on: str) -> DataFrame:
    shown = left.selectExpr("id AS impressionAdId", "timestamp AS impressionTime")
    clicked = right.selectExpr("id AS clickAdId", "timestamp AS clickTime")
    return ads(shown, clicked, how, delays=("10 seconds", "20 seconds"), on=on)


@case("phylosoft", PAIRS)
def short_delays(left: DataFrame, right: DataFrame) -> DataFrame:
    """Inner join of renamed columns on a range of a minute, with delays of seconds."""
    return shown_and_clicked(left, right, "inner", WITHIN_A_MINUTE)


@case("phylosoft", PAIRS)
def short_delays_left_outer(left: DataFrame, right: DataFrame) -> DataFrame:
    """The same as a left outer join."""
    return shown_and_clicked(left, right, "leftOuter", WITHIN_A_MINUTE)


@case("variant", PAIRS, differs="a row is late by its own column, not by the query's minimum")
def short_delays_long_range(left: DataFrame, right: DataFrame) -> DataFrame:
    """The inner join on a range of an hour, with a click that is late by its own watermark."""
    return shown_and_clicked(left, right, "inner", WITHIN_AN_HOUR)


def named(left: DataFrame, right: DataFrame) -> tuple[DataFrame, DataFrame]:
    left = left.withColumnRenamed("id", "leftId").withColumnRenamed("timestamp", "leftTimestamp")
    right = right.withColumnRenamed("id", "rightId").withColumnRenamed(
        "timestamp", "rightTimestamp"
    )
    return (
        left.withWatermark("leftTimestamp", "15 seconds"),
        right.withWatermark("rightTimestamp", "20 seconds"),
    )


@case("neil", PAIRS)
def a_minute_around(left: DataFrame, right: DataFrame) -> DataFrame:
    """Inner join of renamed columns on a range to both sides."""
    left_rows, right_rows = named(left, right)
    around = F.expr("""
        leftId = rightId AND leftTimestamp BETWEEN
            rightTimestamp - INTERVAL 1 MINUTE AND rightTimestamp + INTERVAL 1 MINUTE
    """)
    return left_rows.join(right_rows, around, "inner")


@case("neil", PAIRS, refused="More than one event time columns", differs=TWO_TIMES)
def same_window(left: DataFrame, right: DataFrame) -> DataFrame:
    """Inner join on a window column that each side selects."""
    left_rows, right_rows = named(left, right)
    left_rows = left_rows.select("*", F.window("leftTimestamp", "1 minute"))
    right_rows = right_rows.select("*", F.window("rightTimestamp", "1 minute"))
    return left_rows.join(right_rows, "window", "inner")


@case("neil", PAIRS, refused="More than one event time columns", differs=TWO_TIMES)
def same_window_left_outer(left: DataFrame, right: DataFrame) -> DataFrame:
    """Left outer join on a window column that each side selects."""
    left_rows, right_rows = named(left, right)
    left_rows = left_rows.select("*", F.window("leftTimestamp", "1 minute"))
    right_rows = right_rows.select("*", F.window("rightTimestamp", "1 minute"))
    return left_rows.join(right_rows, "window", "leftOuter")


def table(df: DataFrame) -> DataFrame:
    rows = [("heat", "degrees"), ("rain", "drops")]
    return df.sparkSession.createDataFrame(rows, "type STRING, unit STRING")


@case("guide", READINGS)
def stream_and_table(readings: DataFrame) -> DataFrame:
    """Inner join of a stream and a table, then counts in windows."""
    kept = readings.withWatermark("time", "10 minutes").join(table(readings), "type")
    return kept.groupBy(F.window("time", "1 hour"), "unit").count()


@case("guide", READINGS)
def stream_and_table_left_outer(readings: DataFrame) -> DataFrame:
    """Left outer join of a stream and a table, then counts in windows."""
    kept = readings.withWatermark("time", "10 minutes")
    return (
        kept.join(table(readings), "type", "left_outer")
        .groupBy(F.window("time", "1 hour"), "unit")
        .count()
    )


@case("neil", READINGS)
def table_and_stream_right_outer(readings: DataFrame) -> DataFrame:
    """Right outer join of a table and a stream, then deduplication."""
    kept = readings.withWatermark("time", "10 minutes")
    joined = table(readings).join(kept, "type", "right_outer")
    return joined.dropDuplicates(["device", "time"])


@case("guide", READINGS, refused="RightOuter join")
def stream_and_table_right_outer(readings: DataFrame) -> DataFrame:
    """Right outer join of a stream and a table."""
    return readings.withWatermark("time", "1 minute").join(table(readings), "type", "right_outer")
