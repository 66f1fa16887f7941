"""Sessions of one application, and settings that change: each query runs as its session was when it started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.streams import Row, Stepper, refusal, run_once, stock

import tidemark
from common.settings import with_settings

pytestmark = [pytest.mark.more, pytest.mark.classic]

SCHEMA = "id LONG, time TIMESTAMP"
STEPS = [
    [(1, "10:00"), (2, "10:07")],
    [(3, "10:31"), (1, "10:22")],
    [(4, "10:05"), (5, "10:50"), (2, "10:45")],
    [(6, "11:40"), (3, "10:44")],
    [(7, "11:10"), (8, "12:30")],
]


def windows(df: DataFrame) -> DataFrame:
    return df.groupBy(F.window("time", "10 minutes")).count().select("window.start", "count")


def distinct(df: DataFrame) -> DataFrame:
    return df.dropDuplicates(["id", "time"])


def joined(df: DataFrame) -> DataFrame:
    near = F.expr("l.id = r.id AND r.time BETWEEN l.time AND l.time + INTERVAL 30 MINUTES")
    return df.alias("l").join(df.alias("r"), near, "left_outer").select("l.id", "l.time", "r.time")


QUERIES = [windows, distinct, joined]
Query = Callable[[DataFrame], DataFrame]
# What a session may say of Tidemark that changes the rows of this query, or that no query may start with.
OTHER_SETTINGS = {
    "spark.tidemark.enabled": "false",
    "spark.tidemark.order": "event_time",
    "spark.tidemark.requireOrder": "true",
    "spark.tidemark.idle.after": "1 millisecond",
    "spark.tidemark.idle.whenAll": "advance",
    "spark.tidemark.maxAhead": "1 second",
    "spark.tidemark.maxSplits": "1",
    "spark.tidemark.unboundedJoin": "refuse",
    "spark.tidemark.check": "refuse",
    "spark.tidemark.scanOnlyWhenDue": "false",
    "spark.tidemark.history": "off",
    "spark.tidemark.ui": "off",
}


def marked(feed: Feed) -> DataFrame:
    return feed.stream().withWatermark("time", "5 minutes")


def add(feed: Feed, step: int) -> None:
    feed.add(*({"id": number, "time": time} for number, time in STEPS[step]))


def in_steps(
    spark: SparkSession, folder: Path, query: Query, between: Callable[[int], object] = lambda _: 0
) -> list[list[Row]]:
    """What a query emits step by step that runs all the time."""
    feed = Feed(spark, folder / "in", SCHEMA)
    add(feed, 0)
    stepper = Stepper(query(marked(feed)), "append", folder / "cp")
    try:
        out = []
        for step in range(len(STEPS)):
            if step:
                between(step)
                add(feed, step)
            out.append(stepper.step())
        between(len(STEPS))
        return out
    finally:
        stepper.stop()


def of_stock(spark: SparkSession, folder: Path, query: Query) -> list[list[Row]]:
    with stock(spark):
        out = in_steps(spark, folder, query)
    assert sum(map(len, out)) > 3
    return out


def clone(spark: SparkSession) -> SparkSession:
    """A session with a copy of the other's state, which Spark makes for each streaming query."""
    return SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())


@contextmanager
def active_again(spark: SparkSession) -> Iterator[None]:
    """Restores the session of the other tests: a new one becomes active when it is made."""
    try:
        yield
    finally:
        jvm = spark._jvm
        assert jvm is not None
        jvm.SparkSession.setActiveSession(spark._jsparkSession)
        jvm.SparkSession.setDefaultSession(spark._jsparkSession)
        SparkSession._instantiatedSession = spark
        SparkSession._activeSession = spark


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("derive", [SparkSession.newSession, clone])
def test_a_query_of_a_derived_session_has_stock_sparks_rows(
    spark: SparkSession,
    tmp_path: Path,
    query: Query,
    derive: Callable[[SparkSession], SparkSession],
) -> None:
    expected = of_stock(spark, tmp_path / "stock", query)
    with active_again(spark):
        derived = derive(spark)
        for name in ("shuffle.partitions", "session.timeZone", "codegen.wholeStage"):
            derived.conf.set(f"spark.sql.{name}", spark.conf.get(f"spark.sql.{name}") or "")
        assert tidemark.doctor(derived).ok
        assert in_steps(derived, tmp_path / "derived", query) == expected
        with stock(derived):
            assert in_steps(derived, tmp_path / "derived stock", query) == expected
        # The session that it comes from goes on.
        assert in_steps(spark, tmp_path / "again", query) == expected
    assert tidemark.doctor(spark).ok


def test_two_sessions_with_other_settings_do_not_share_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Feed(spark, tmp_path / "in", SCHEMA)
    add(feed, 0)
    with active_again(spark):
        off = spark.newSession()
        off.conf.set("spark.tidemark.enabled", "false")
        off.conf.set("spark.sql.shuffle.partitions", "1")
        elsewhere = Feed(off, tmp_path / "in", SCHEMA)
        by_stock = Stepper(windows(marked(elsewhere)), "append", tmp_path / "stock")
        by_tidemark = Stepper(windows(marked(feed)), "append", tmp_path / "tidemark")
        try:
            for step in range(len(STEPS)):
                if step:
                    add(feed, step)
                assert by_stock.step() == by_tidemark.step()
            assert tidemark.report(by_tidemark.query).to_dict()["engine"] == "tidemark"
            # A report answers in any session of the application.
            other = off.sql(f"SELECT tidemark_report('{by_tidemark.query.runId}')").first()
            assert other is not None and '"engine":"tidemark"' in other[0].replace(": ", ":")
            assert (tmp_path / "tidemark" / "tidemark").is_dir()
            assert not (tmp_path / "stock" / "tidemark").exists()
        finally:
            by_stock.stop()
            by_tidemark.stop()


@pytest.mark.parametrize("query", QUERIES)
def test_settings_that_change_while_a_query_runs_do_not_reach_it(
    spark: SparkSession, tmp_path: Path, query: Query
) -> None:
    expected = of_stock(spark, tmp_path / "stock", query)
    with ExitStack() as after:
        changed: set[str] = set()

        def change(step: int) -> None:
            if step == 1:
                after.enter_context(with_settings(spark, OTHER_SETTINGS))
                changed.update(OTHER_SETTINGS)

        assert in_steps(spark, tmp_path / "changed", query, change) == expected
        assert changed == set(OTHER_SETTINGS)


def test_a_wrong_setting_stops_the_next_query_and_not_the_one_that_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    expected = of_stock(spark, tmp_path / "stock", windows)
    codes = []
    with with_settings(spark, {"spark.tidemark.idle.after": "none"}):

        def break_it(step: int) -> None:
            spark.conf.set("spark.tidemark.idle.after", "soon")
            feed = Feed(spark, tmp_path / f"other{step}", SCHEMA)
            add(feed, 0)
            codes.append(
                refusal(lambda: run_once(windows(marked(feed)), tmp_path / f"other{step}.cp"))[0]
            )
            # Batch queries ask for no setting.
            assert windows(feed.table()).count() == 1

        assert in_steps(spark, tmp_path / "broken", windows, break_it) == expected
    assert codes == ["INVALID_SETTING"] * len(STEPS)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("switches", ["10101", "01010", "11001"])
def test_tidemark_switched_on_and_off_between_runs_changes_no_row(
    spark: SparkSession, tmp_path: Path, query: Query, switches: str
) -> None:
    def in_runs(name: str, of: str) -> list[list[Row]]:
        feed, out = Feed(spark, tmp_path / name, SCHEMA), []
        for step, switch in enumerate(of):
            add(feed, step)
            on = {"spark.tidemark.enabled": "true" if switch == "1" else "false"}
            with with_settings(spark, on):
                out.append(run_once(query(marked(feed)), tmp_path / f"{name}.cp"))
        return out

    expected = in_runs("stock", "00000")
    assert sum(map(len, expected)) > 3
    assert in_runs("switched", switches) == expected
