"""Queries in SQL: views, common table expressions, subqueries, the `WATERMARK` clause."""

from __future__ import annotations

from pyspark.sql import DataFrame

from corpus.cases import case
from corpus.inputs import CALLS, EVENTS, IN_STEP, READINGS, WORDS


def ask(query: str, **views: DataFrame) -> DataFrame:
    session = next(iter(views.values())).sparkSession
    for name, df in views.items():
        df.createOrReplaceTempView(name)
    return session.sql(query)


@case("guide", READINGS, mode="update")
def count_of_a_view(readings: DataFrame) -> DataFrame:
    """`SELECT count(*)` of a view of a stream."""
    return ask("SELECT count(*) FROM updates", updates=readings)


@case("variant", WORDS)
def windows_of_a_view(words: DataFrame) -> DataFrame:
    """Counts in windows of a view with a watermark, with `HAVING`."""
    return ask(
        """
        SELECT window.start, window.end, word, count(*) AS n FROM corpus_words
        GROUP BY window(timestamp, '10 minutes'), word HAVING count(*) < 3
        """,
        corpus_words=words.withWatermark("timestamp", "10 minutes"),
    )


@case("variant", CALLS)
def sessions_of_a_view(calls: DataFrame) -> DataFrame:
    """Session windows in SQL."""
    return ask(
        """
        SELECT session_window.start, session_window.end, userId, count(*) FROM corpus_calls
        GROUP BY session_window(timestamp, '5 minutes'), userId
        """,
        corpus_calls=calls.withWatermark("timestamp", "10 minutes"),
    )


@case("variant", WORDS)
def windows_in_a_subquery(words: DataFrame) -> DataFrame:
    """Windows of windows in SQL: counts in a subquery, their sums by the hour above it."""
    return ask(
        """
        SELECT window(window_time(small), '1 hour').start AS hour, sum(n) FROM (
            SELECT window(timestamp, '10 minutes') AS small, word, count(*) AS n
            FROM corpus_words GROUP BY window(timestamp, '10 minutes'), word
        ) GROUP BY window(window_time(small), '1 hour')
        """,
        corpus_words=words.withWatermark("timestamp", "10 minutes"),
    )


@case("variant", EVENTS)
def distinct_of_a_view(events: DataFrame) -> DataFrame:
    """`SELECT DISTINCT` of a common table expression over a view with a watermark."""
    return ask(
        "WITH e AS (SELECT guid, eventTime FROM corpus_events) SELECT DISTINCT * FROM e",
        corpus_events=events.withWatermark("eventTime", "10 seconds"),
    )


@case("variant", IN_STEP)
def join_of_views(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Left outer join of two views on a time range."""
    return ask(
        """
        SELECT i.*, c.clickTime FROM corpus_shown i LEFT JOIN corpus_clicked c
        ON c.clickAdId = i.impressionAdId AND c.clickTime >= i.impressionTime
            AND c.clickTime <= i.impressionTime + INTERVAL 1 HOUR
        """,
        corpus_shown=impressions.withWatermark("impressionTime", "2 hours"),
        corpus_clicked=clicks.withWatermark("clickTime", "3 hours"),
    )


@case("variant", WORDS)
def expression_used_twice(words: DataFrame) -> DataFrame:
    """A common table expression over a view with a watermark, joined with itself."""
    return ask(
        """
        WITH w AS (SELECT word, timestamp FROM corpus_words WHERE word <> 'fir')
        SELECT a.word, a.timestamp, b.timestamp AS again FROM w a JOIN w b
        ON a.word = b.word AND b.timestamp > a.timestamp
            AND b.timestamp <= a.timestamp + INTERVAL 10 MINUTES
        """,
        corpus_words=words.withWatermark("timestamp", "10 minutes"),
    )


@case("variant", WORDS, since="4.1")
def watermark_clause(words: DataFrame) -> DataFrame:
    """Counts in windows with a `WATERMARK` clause."""
    return ask(
        """
        SELECT window.start, word, count(*) FROM STREAM corpus_words
        WATERMARK timestamp DELAY OF INTERVAL 10 MINUTES
        GROUP BY window(timestamp, '10 minutes'), word
        """,
        corpus_words=words,
    )


@case("variant", IN_STEP, since="4.1")
def watermark_clauses_joined(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Inner join of two streams with a `WATERMARK` clause each."""
    return ask(
        """
        SELECT impressionAdId, impressionTime, clickTime
        FROM STREAM corpus_shown WATERMARK impressionTime DELAY OF INTERVAL 2 HOURS
        JOIN STREAM corpus_clicked WATERMARK clickTime DELAY OF INTERVAL 3 HOURS
        ON clickAdId = impressionAdId AND clickTime >= impressionTime
            AND clickTime <= impressionTime + INTERVAL 1 HOUR
        """,
        corpus_shown=impressions,
        corpus_clicked=clicks,
    )


@case("variant", WORDS, since="4.1")
def watermark_clause_read_twice(words: DataFrame) -> DataFrame:
    """A `WATERMARK` clause in a common table expression that is left outer joined with itself."""
    # An expression with rand() is not copied to the places that read it.
    return ask(
        """
        WITH w AS (
            SELECT word, timestamp, rand() AS chance
            FROM STREAM corpus_words WATERMARK timestamp DELAY OF INTERVAL 5 MINUTES
        )
        SELECT a.word, a.timestamp, b.timestamp AS again FROM w a LEFT JOIN w b
        ON a.word = b.word AND b.timestamp > a.timestamp
            AND b.timestamp <= a.timestamp + INTERVAL 10 MINUTES
        """,
        corpus_words=words,
    )


@case("variant", WORDS, since="4.1")
def view_with_a_watermark_clause(words: DataFrame) -> DataFrame:
    """A temporary view with a `WATERMARK` clause, used by two aggregations and their union."""
    ask("SELECT 1", corpus_words=words).sparkSession.sql(
        """
        CREATE OR REPLACE TEMPORARY VIEW corpus_marked AS
        SELECT * FROM STREAM corpus_words WATERMARK timestamp DELAY OF INTERVAL 10 MINUTES
        """
    )
    return words.sparkSession.sql(
        """
        SELECT 'ten' AS size, window.start, count(*) AS n FROM corpus_marked
        GROUP BY window(timestamp, '10 minutes')
        UNION ALL
        SELECT 'thirty', window.start, count(*) FROM corpus_marked
        GROUP BY window(timestamp, '30 minutes')
        """
    )


@case("variant", WORDS)
def lateral_view_of_structs(words: DataFrame) -> DataFrame:
    """`LATERAL VIEW explode` of an array of structs that hold the event time, deduplicated."""
    return ask(
        """
        SELECT DISTINCT e.at, e.name FROM corpus_words
        LATERAL VIEW explode(array(
            named_struct('at', timestamp, 'name', word),
            named_struct('at', timestamp, 'name', upper(word))
        )) AS e
        """,
        corpus_words=words.withWatermark("timestamp", "10 minutes"),
    )


@case("variant", WORDS)
def grouping_sets_of_windows(words: DataFrame) -> DataFrame:
    """Counts by window and word and by window alone, in one query with `GROUPING SETS`."""
    return ask(
        """
        SELECT window, word, count(*) AS n FROM corpus_words
        GROUP BY GROUPING SETS (
            (window(timestamp, '10 minutes'), word), (window(timestamp, '10 minutes'))
        )
        """,
        corpus_words=words.withWatermark("timestamp", "10 minutes"),
    )
