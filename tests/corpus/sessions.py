"""Session windows."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from corpus.cases import case
from corpus.inputs import CALLS, LINES

MERGED = {"spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition": "true"}


def gap_of_user(calls: DataFrame) -> object:
    return (
        F.when(calls.userId == "user1", "5 seconds")
        .when(calls.userId == "user2", "20 seconds")
        .otherwise("5 minutes")
    )


@case("guide", CALLS, quick=True)
def sessions_of_users(calls: DataFrame) -> DataFrame:
    """Session windows with one gap for all."""
    kept = calls.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.session_window("timestamp", "5 minutes"), "userId").count()


@case("guide", CALLS, refused="STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION")
def sessions_by_columns(calls: DataFrame) -> DataFrame:
    """The same as the guide has it, by columns of the DataFrame that has no watermark yet."""
    kept = calls.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.session_window(calls.timestamp, "5 minutes"), calls.userId).count()


@case("guide", CALLS)
def sessions_with_their_own_gap(calls: DataFrame) -> DataFrame:
    """Session windows whose gap depends on the row."""
    kept = calls.withWatermark("timestamp", "10 minutes")
    window = F.session_window("timestamp", gap_of_user(calls))  # type: ignore[arg-type]
    return kept.groupBy(window, "userId").count()


@case("guide", CALLS, conf=MERGED)
def sessions_merged_early(calls: DataFrame) -> DataFrame:
    """Session windows that are merged in each partition first."""
    kept = calls.withWatermark("timestamp", "10 minutes")
    return kept.groupBy(F.session_window("timestamp", "5 minutes"), "userId").count()


@case("variant", CALLS, mode="complete")
def sessions_completed(calls: DataFrame) -> DataFrame:
    """Session windows in complete mode."""
    return calls.groupBy(F.session_window("timestamp", "5 minutes"), "userId").count()


@case("variant", CALLS)
def windows_of_sessions(calls: DataFrame) -> DataFrame:
    """Sessions, counted again in windows by their time."""
    kept = calls.withWatermark("timestamp", "10 minutes")
    sessions = kept.groupBy(F.session_window("timestamp", "5 minutes"), "userId").count()
    by_hour = F.window(F.window_time("session_window"), "1 hour")
    return sessions.groupBy(by_hour).agg(F.count("*"), F.sum("count"))


@case("examples", LINES)
def sessions_of_words(lines: DataFrame) -> DataFrame:
    """Words of lines as sessions, with start, end and length of each."""
    events = lines.select(
        F.explode(F.split("value", " ")).alias("sessionId"), lines.timestamp.alias("eventTime")
    ).withWatermark("eventTime", "10 seconds")
    sessions = events.groupBy(
        F.session_window("eventTime", "10 seconds").alias("session"), "sessionId"
    ).agg(F.count("*").alias("numEvents"))
    return sessions.selectExpr(
        "sessionId",
        "CAST(session.start AS LONG) AS since",
        "CAST(session.end AS LONG) - CAST(session.start AS LONG) AS duration",
        "numEvents",
    )


@case("neil", CALLS)
def sessions_of_a_type(calls: DataFrame) -> DataFrame:
    """Session windows by another column than the one that says the gap."""
    kept = calls.withWatermark("timestamp", "15 seconds").withColumn("value", F.lit("one"))
    window = F.session_window("timestamp", gap_of_user(calls))  # type: ignore[arg-type]
    return kept.groupBy(window, "value").agg(F.count("*"), F.max("userId"))
