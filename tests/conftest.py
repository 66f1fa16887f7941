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
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from support import processes
from support.feeds import Feed
from support.streams import Stepper

import tidemark
from common.session import file_manager
from common.settings import with_settings

# Markers of tests that have a part of `make test-more` for themselves.
PARTS = {
    "kafka": "needs a real Kafka broker",
    "kill": "kills programs or executors again and again",
    "example": "runs an example as a whole",
    "docs": "runs what the documentation tells",
}
REMOTE = os.environ.get("TIDEMARK_TEST_REMOTE")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "more: not in `make test`, but in `make test-more-python`")
    for name, what in PARTS.items():
        config.addinivalue_line("markers", f"{name}: {what}; not in `make test`")
    config.addinivalue_line("markers", "engine: needs the jar, so it is not in `make check`")
    config.addinivalue_line("markers", "classic: has no meaning on Spark Connect")
    # Python shows Spark's timestamps in the machine's time zone; the tests expect UTC.
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Run Python functions with the interpreter that has pandas.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_SUBMIT_OPTS", processes.JAVA_OPTIONS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks tests by what they need.

    On Spark Connect, only the tests that use the session run: the others do not depend on it.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("engine")
        if any(map(item.get_closest_marker, PARTS)):
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Says how long the test may take, by its own marker or by the limit of all tests."""
    marker = item.get_closest_marker("timeout")
    everybody = item.config.getoption("timeout") or item.config.getini("timeout")
    with processes.within(float(marker.args[0] if marker else everybody)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the threads of this process's JVMs to the report of a test that hangs."""
    report = yield
    if call.excinfo and str(call.excinfo.value).startswith("Timeout (>"):
        report.sections.append(("threads of JVMs", processes.threads_of_jvms(os.getpid())))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tells `build/steps.py` how many tests have run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    file = os.environ.get("TIDEMARK_COUNTS")
    # With parallel worker processes, only the controlling process has all results.
    if file and reporter and not hasattr(session.config, "workerinput"):
        passed, failed, errors, skipped = (
            len(reporter.stats.get(kind, ())) for kind in ("passed", "failed", "error", "skipped")
        )
        with Path(file).open("a", encoding="utf-8") as counts:
            print(passed, failed + errors, skipped, file=counts)


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
