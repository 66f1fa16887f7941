"""Runs a case by stock Spark and by Tidemark, and compares what came out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
from support.feeds import Feed
from support.streams import Row, stock

import tidemark
from common.settings import with_settings
from corpus import CASES
from corpus.cases import Build, Case
from corpus.page import KINDS, SUBJECTS

FRAME = "terminated with exception: "
COLUMN_ID = re.compile(r"#\d+\S*")

# The name that cases use with `observe`.
OBSERVED = "corpus"

# The step before which a query is changed.
LATER = 2

# Five test files take a part each, because pytest distributes whole files to its processes.
JOINS = ["joins", "several"]
WINDOWS = ["windows", "sessions", "deduplication"]
OTHERS = [kind for kind in KINDS if kind not in [*JOINS, *WINDOWS, "reports"]]
REPORTS_OF_ONE = ["reports.times", "reports.windows", "reports.functions", "reports.splits"]
REPORTS = [subject for subject in SUBJECTS if subject not in REPORTS_OF_ONE]


@dataclass
class Said:
    """Why nothing comes out, by its code and in words, and how many rows were late in the last run."""

    code: str
    sentence: str
    late: int


@dataclass
class Outcome:
    """The rows of each batch that has rows, in order, and the refusal in which the query ended."""

    batches: list[list[Row]] = field(default_factory=list)
    refused: str = ""
    # The metrics of `observe` in each batch with rows.
    observed: list[Row] = field(default_factory=list)
    # What the report says after the last step; only Tidemark has one.
    report: Said | None = field(default=None, compare=False)

    @property
    def rows(self) -> list[Row]:
        return sorted((row for batch in self.batches for row in batch), key=repr)


def cases(subjects: list[str]) -> pytest.MarkDecorator:
    """A test of each case of these. Only the quick ones are in `make test`."""
    found = [
        pytest.param(case, id=case.name, marks=[] if case.quick else [pytest.mark.more])
        for case in CASES
        if case.subject in subjects
    ]
    return pytest.mark.parametrize("case", found)


def compare(case: Case, spark: SparkSession, folder: Path) -> None:
    """The same rows in the same batches, or the difference that the case names."""
    if version(pyspark.__version__) < version(case.since):
        pytest.skip(f"needs Spark {case.since}")
    with stock(spark):
        expected = outcome(case, case.build, spark, folder / "stock")
    found = outcome(case, case.here, spark, folder / "tidemark", with_report=True)
    if case.refused:
        assert case.refused in expected.refused
    else:
        assert not expected.refused
        assert expected.batches or case.differs, "nothing has come out"
    check(case, found)
    if not case.differs:
        assert found == expected
        return
    assert not found.refused
    assert found.batches, "nothing has come out"
    assert (found.rows == expected.rows) == case.same_rows
    assert found.batches != expected.batches, "it no longer differs"


def check(case: Case, found: Outcome) -> None:
    """What the case says about Tidemark alone."""
    if case.emits:
        assert [row for batch in found.batches for row in batch] == list(case.emits)
    if case.why:
        assert found.report
        assert found.report.code == case.why, found.report.sentence
    if case.late >= 0:
        assert found.report
        assert found.report.late == case.late


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def outcome(
    case: Case, build: Build, spark: SparkSession, folder: Path, *, with_report: bool = False
) -> Outcome:
    batches: dict[int, list[Row]] = {}
    refused, observed, report = "", [], None

    def take(df: DataFrame, batch: int) -> None:
        made = case.in_batch(df) if case.in_batch else df
        rows = [tuple(row) for row in made.collect()]
        batches[batch] = rows if case.ordered else sorted(rows, key=repr)

    feeds = [Feed(spark, folder / name, schema) for name, schema in case.inputs.schemas.items()]
    with with_settings(spark, case.conf):
        try:
            observed, report = drive(case, build, feeds, folder, take, with_report)
        except PySparkException as error:
            refused = condition(error)
    with_rows = [batches[batch] for batch in sorted(batches) if batches[batch]]
    return Outcome(with_rows, refused, observed, report)


def drive(
    case: Case, build: Build, feeds: list[Feed], folder: Path, take: object, with_report: bool
) -> tuple[list[Row], Said | None]:
    streams = [feed.stream(**case.options) for feed in feeds]
    is_run = case.available_now or case.once
    # A running query could read the rows of one input before those of the other have arrived.
    restarts = len(feeds) > 1
    writer = to_start(case, build(*streams), folder, take)
    query = None
    try:
        for number, step in enumerate(case.inputs.steps):
            is_changed = case.later is not None and number == LATER
            if query and (restarts or is_changed):
                query.stop()
                query = None
            if is_changed:
                writer = to_start(case, case.later(*streams), folder, take)
            for feed, rows in zip(feeds, step, strict=True):
                if rows:
                    feed.add(*rows)
            if is_run:
                query = writer.start()
                query.awaitTermination()
            else:
                query = query or writer.start()
                query.processAllAvailable()
        assert query
        batches = [batch for batch in query.recentProgress if batch.numInputRows]
        observed = [
            tuple(batch.observedMetrics[OBSERVED])
            for batch in batches
            if OBSERVED in batch.observedMetrics
        ]
        return observed, said(query) if with_report else None
    finally:
        if query:
            query.stop()


def said(query: StreamingQuery) -> Said:
    why = tidemark.report(query).to_dict()["why"]
    late = sum(each.rows for each in tidemark.late_rows(query))
    return Said(why["code"], why["sentence"], late)


def to_start(case: Case, df: DataFrame, folder: Path, take: object) -> DataStreamWriter:
    writer = (
        df.writeStream.outputMode(case.mode)
        .foreachBatch(take)
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    if case.available_now:
        return writer.trigger(availableNow=True)
    return writer.trigger(once=True) if case.once else writer


def condition(error: PySparkException) -> str:
    """Its first line, without ids and without the frame that says that a query has ended."""
    return COLUMN_ID.sub("", str(error).partition(FRAME)[2] or str(error)).splitlines()[0]
