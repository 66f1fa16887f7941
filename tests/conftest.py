"""One Spark session with Tidemark for the whole run, and the fixtures that tests share.

Tests that need a differently configured Spark start their own process (`scripts/`).

With `TIDEMARK_TEST_REMOTE=local[2]` the session uses Spark Connect with its own server. Tests marked
`classic` need direct access to the JVM and are deselected in that case.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.feeds import Feed
from support.streams import Stepper

import tidemark
from common.session import file_manager
from common.settings import with_settings

REMOTE = os.environ.get("TIDEMARK_TEST_REMOTE")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--at-least", type=int, default=0, help="fail where fewer tests have passed")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "more: not in `make test`, but in `make test-more`")
    config.addinivalue_line("markers", "long: only in `make test-long`")
    config.addinivalue_line("markers", "engine: needs the jar, so it is not in `make check`")
    config.addinivalue_line("markers", "classic: has no meaning on Spark Connect")
    # Python shows Spark's timestamps in the machine's time zone; the tests expect UTC.
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Run Python functions with the interpreter that has pandas.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # These JVMs are short-lived: the second, slower compiler would only cost processor time. With the first compiler
    # alone, the default code cache is too small, so code would be compiled again and again.
    options = (
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m "
        # A process for a file, such as chmod, starts cheaply.
        "-Djdk.lang.Process.launchMechanism=VFORK"
    )
    os.environ.setdefault("SPARK_SUBMIT_OPTS", options)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks tests by what they need, or by how long they take.

    On Spark Connect, only the tests that use the session run: the others do not depend on it.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("engine")
        if item.get_closest_marker("long"):
            item.add_marker("more")
    if REMOTE:
        left_out = [
            item
            for item in items
            if "spark" not in getattr(item, "fixturenames", ())
            or item.get_closest_marker("classic")
        ]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Lists the slowest test files: the place to look when a run becomes slow."""
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.location[0]] += report.duration
    terminalreporter.section("ten slowest files")
    for file, took in seconds.most_common(10):
        terminalreporter.write_line(f"{took:7.1f} s  {file}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run if a filter has dropped tests."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    least = session.config.getoption("--at-least")
    # With parallel worker processes, only the controlling process has all results.
    if reporter and not hasattr(session.config, "workerinput"):
        passed = len(reporter.stats.get("passed", ()))
        if passed < least:
            reporter.write_line(f"\n{passed} tests have passed, where there should be {least}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    start = SparkSession.builder
    builder = (
        (start.remote(REMOTE) if REMOTE else start.master("local[2]"))
        .appName("tidemark-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        # For speed only: tests do not wait for a poll or for old files to be compacted.
        .config("spark.sql.streaming.pollingDelay", "10ms")
        .config("spark.sql.streaming.fileSource.log.compactInterval", "1000")
        .config("spark.sql.streaming.checkpointFileManagerClass", file_manager())
        .config("spark.tidemark.check", "off")
        # Most queries here are small and run once: compiling one takes longer than running it.
        .config("spark.sql.codegen.wholeStage", "false")
    )
    session = tidemark.configure(builder).getOrCreate()
    if not REMOTE:
        session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Callable[..., Feed]:
    """Makes input folders: `feed("orders", "id LONG, order_time TIMESTAMP")`."""

    def make(name: str, schema: str) -> Feed:
        return Feed(spark, tmp_path / name, schema)

    return make


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Stepper]]:
    """Starts queries that are driven step by step, and stops them after the test."""
    started: list[Stepper] = []

    def start(df: DataFrame, *, mode: str = "append", checkpoint: str = "checkpoint") -> Stepper:
        stepper = Stepper(df, mode, tmp_path / checkpoint)
        started.append(stepper)
        return stepper

    yield start
    for stepper in started:
        stepper.stop()


@pytest.fixture
def one_partition(spark: SparkSession) -> Iterator[None]:
    """For tests that compare many small queries: half the state files, half the time."""
    with with_settings(spark, {"spark.sql.shuffle.partitions": "1"}):
        yield


@pytest.fixture
def generated_code(spark: SparkSession) -> Iterator[None]:
    """Queries run in code generated for them, as they do by default in Spark."""
    with with_settings(spark, {"spark.sql.codegen.wholeStage": "true"}):
        yield
