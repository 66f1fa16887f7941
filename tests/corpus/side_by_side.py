"""Runs a case by stock Spark and by Tidemark, and compares what came out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from support.feeds import Feed
from support.streams import Row, stock

from common.settings import with_settings
from corpus import CASES
from corpus.cases import Build, Case
from corpus.page import KINDS

FRAME = "terminated with exception: "
COLUMN_ID = re.compile(r"#\d+\S*")

# The name that cases use with `observe`.
OBSERVED = "corpus"

# Four test files take a part each, because pytest distributes whole files to its processes.
JOINS = ["joins", "several"]
WINDOWS = ["windows", "sessions", "deduplication"]
REPORTS = ["reports"]
OTHERS = [kind for kind in KINDS if kind not in JOINS + WINDOWS + REPORTS]


@dataclass
class Outcome:
    """The rows of each batch that has rows, in order, and the refusal in which the query ended."""

    batches: list[list[Row]] = field(default_factory=list)
    refused: str = ""
    # The metrics of `observe` in each batch with rows.
    observed: list[Row] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        return sorted((row for batch in self.batches for row in batch), key=repr)


def cases(kinds: list[str]) -> pytest.MarkDecorator:
    """A test of each case of these kinds. Only the quick ones are in `make test`."""
    found = [
        pytest.param(case, id=case.name, marks=[] if case.quick else [pytest.mark.more])
        for case in CASES
        if case.kind in kinds
    ]
    return pytest.mark.parametrize("case", found)


def compare(case: Case, spark: SparkSession, folder: Path) -> None:
    """The same rows in the same batches, or the difference that the case names."""
    if version(pyspark.__version__) < version(case.since):
        pytest.skip(f"needs Spark {case.since}")
    with stock(spark):
        expected = outcome(case, case.build, spark, folder / "stock")
    found = outcome(case, case.here, spark, folder / "tidemark")
    if case.refused:
        assert case.refused in expected.refused
    else:
        assert not expected.refused
        assert expected.batches or case.differs, "nothing has come out"
    if not case.differs:
        assert found == expected
        return
    assert not found.refused
    assert found.batches, "nothing has come out"
    if case.emits:
        assert [row for batch in found.batches for row in batch] == case.emits
    assert (found.rows == expected.rows) == case.same_rows
    assert found.batches != expected.batches, "it no longer differs"


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def outcome(case: Case, build: Build, spark: SparkSession, folder: Path) -> Outcome:
    batches: dict[int, list[Row]] = {}
    refused, observed = "", []

    def take(df: DataFrame, batch: int) -> None:
        made = case.in_batch(df) if case.in_batch else df
        rows = [tuple(row) for row in made.collect()]
        batches[batch] = rows if case.ordered else sorted(rows, key=repr)

    feeds = [Feed(spark, folder / name, schema) for name, schema in case.inputs.schemas.items()]
    with with_settings(spark, case.conf):
        try:
            observed = drive(case, build, feeds, folder, take)
        except PySparkException as error:
            refused = condition(error)
    with_rows = [batches[batch] for batch in sorted(batches) if batches[batch]]
    return Outcome(with_rows, refused, observed)


def drive(case: Case, build: Build, feeds: list[Feed], folder: Path, take: object) -> list[Row]:
    streams = [feed.stream(**case.options) for feed in feeds]
    writer = (
        build(*streams)
        .writeStream.outputMode(case.mode)
        .foreachBatch(take)
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    if case.available_now:
        writer = writer.trigger(availableNow=True)
    query = None
    try:
        for step in case.inputs.steps:
            if query and len(feeds) > 1:
                # A running query could read the rows of one input before those of the other have arrived.
                query.stop()
                query = None
            for feed, rows in zip(feeds, step, strict=True):
                if rows:
                    feed.add(*rows)
            if case.available_now:
                query = writer.start()
                query.awaitTermination()
            else:
                query = query or writer.start()
                query.processAllAvailable()
        assert query
        batches = [batch for batch in query.recentProgress if batch.numInputRows]
        return [
            tuple(batch.observedMetrics[OBSERVED])
            for batch in batches
            if OBSERVED in batch.observedMetrics
        ]
    finally:
        if query:
            query.stop()


def condition(error: PySparkException) -> str:
    """Its first line, without ids and without the frame that says that a query has ended."""
    return COLUMN_ID.sub("", str(error).partition(FRAME)[2] or str(error)).splitlines()[0]
