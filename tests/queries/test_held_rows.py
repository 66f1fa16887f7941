"""Rows that `in_order` holds outlive what is done to a stopped query: no row is lost, doubled or out of order."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed, clock
from support.streams import run_once

import tidemark
from common.settings import with_settings

pytestmark = [pytest.mark.more, pytest.mark.classic]

SCHEMA = "n LONG, device STRING, time TIMESTAMP"
RUNS = 5
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Kept(NamedTuple):
    """A query that is started again for each step, and what has come out of it."""

    spark: SparkSession
    folder: Path
    batches: list[list[dict[str, Any]]]
    """The rows of each batch, in the order in which they have come."""
    accounts: list[tuple[int, int, int]]
    """After each run: rows that have come in, rows that were late, and rows that are held."""

    @property
    def checkpoint(self) -> str:
        return str(self.folder / "cp")

    @property
    def feed(self) -> Feed:
        return Feed(self.spark, self.folder / "in", SCHEMA)

    def run(self, delay: str = "10 minutes") -> None:
        marked = tidemark.with_watermark(
            self.feed.stream(), "time", delay, key="readings", split_by="device"
        )
        batches: dict[int, list[dict[str, Any]]] = {}

        def take(df: DataFrame, batch: int) -> None:
            batches[batch] = [row.asDict() for row in df.collect()]

        query = (
            tidemark.in_order(marked, "time", by="device", then="n")
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", self.checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        self.batches.extend(batches[batch] for batch in sorted(batches))
        late = sum(late.rows for late in tidemark.late_rows(query))
        before = self.accounts[-1] if self.accounts else (0, 0, 0)
        states = [op for progress in query.recentProgress for op in progress.stateOperators]
        self.accounts.append((self.feed.table().count(), before[1] + late, states[-1].numRowsTotal))

    def emitted(self) -> list[dict[str, Any]]:
        return [row for batch in self.batches for row in batch]

    def nothing_is_lost_or_doubled(self) -> None:
        numbers = [row["n"] for row in self.emitted()]
        assert len(set(numbers)) == len(numbers)
        came, late, held = self.accounts[-1]
        assert len(numbers) == came - late - held

    def is_in_order(self, batches: list[list[dict[str, Any]]] | None = None) -> None:
        for of in (self.batches,) if batches is None else ([batch] for batch in batches):
            seen: dict[str, list[Any]] = {}
            for row in (row for batch in of for row in batch):
                seen.setdefault(row["device"], []).append((row["time"], row["n"]))
            assert all(rows == sorted(rows) for rows in seen.values())


@pytest.fixture
def kept(spark: SparkSession, tmp_path: Path) -> Callable[[str], Kept]:
    return lambda name: Kept(spark, tmp_path / name, [], [])


def drawn(run: int) -> list[dict[str, Any]]:
    """Rows of three devices, up to 30 minutes out of order, 10 minutes later with each run."""
    chance = random.Random(run)
    rows = []
    for number in range(40):
        minute = 10 * run + chance.randrange(30)
        at = f"{10 + minute // 60}:{minute % 60:02}"
        rows.append({"n": 100 * run + number, "device": f"d{number % 3}", "time": at})
    return rows


def through(kept: Kept, between: Callable[[Kept, int], object], delays: str = "") -> Kept:
    """Five runs, and a last one in which the watermark passes all rows; `between` is done before each but the first."""
    for run in range(RUNS):
        kept.feed.add(*drawn(run))
        if run:
            between(kept, run)
        kept.run(delays.split(",")[run] if delays else "10 minutes")
        kept.nothing_is_lost_or_doubled()
    kept.feed.add(*({"n": 1000 + n, "device": f"d{n}", "time": "23:00"} for n in range(3)))
    kept.run()
    kept.nothing_is_lost_or_doubled()
    # The last three rows wait for the watermark.
    assert kept.accounts[-1][2] == 3
    return kept


def undisturbed(make: Callable[[str], Kept]) -> Kept:
    kept = through(make("undisturbed"), lambda _, __: None)
    kept.is_in_order()
    # There is something to lose: rows are held at the end of each run, and few are late.
    assert all(held > 10 for _, _, held in kept.accounts[:RUNS])
    assert 0 < kept.accounts[-1][1] < 100
    return kept


@pytest.mark.parametrize("provider", ["", ROCKSDB])
def test_the_state_reader_leaves_held_rows_alone(
    spark: SparkSession, kept: Callable[[str], Kept], provider: str
) -> None:
    said: set[str] = set()

    def read(of: Kept, _: int) -> None:
        metadata = spark.read.format("state-metadata").load(of.checkpoint)
        said.update(row["operatorName"] for row in metadata.collect())
        try:
            rows = spark.read.format("statestore").load(of.checkpoint).collect()
            assert rows
            said.add("read")
        except Exception as error:  # noqa: BLE001
            said.add(str(error).splitlines()[0][:120])

    with with_settings(
        spark, {"spark.sql.streaming.stateStore.providerClass": provider} if provider else {}
    ):
        expected = undisturbed(kept)
        found = through(kept("read"), read)
    assert found.batches == expected.batches
    assert found.accounts == expected.accounts
    assert said == {"inOrder", "read"}


@pytest.mark.skipif(
    pyspark.__version__ < "4.2", reason="older Spark has no repartitioning of state"
)
def test_spark_refuses_to_repartition_held_rows_and_the_query_goes_on(
    spark: SparkSession, kept: Callable[[str], Kept]
) -> None:
    def refused(of: Kept, run: int) -> None:
        if run == 3:
            offsets = Path(of.checkpoint) / "offsets"
            before = set(offsets.iterdir())
            with pytest.raises(Exception, match="STDS_FAILED_TO_READ_STATE_SCHEMA"):
                spark._streamingCheckpointManager.repartition(of.checkpoint, 3)
            # Without this Spark waits for the repartitioning to be retried.
            for file in set(offsets.iterdir()) - before:
                file.unlink()

    with with_settings(spark, {"spark.sql.streaming.stateStore.providerClass": ROCKSDB}):
        expected = undisturbed(kept)
        found = through(kept("repartitioned"), refused)
    assert found.batches == expected.batches
    assert found.accounts == expected.accounts


@pytest.mark.skipif(
    pyspark.__version__ < "4.2", reason="older Spark has no repartitioning of state"
)
@pytest.mark.parametrize("partitions", [1, 3])
def test_a_query_goes_on_after_its_state_was_repartitioned(
    spark: SparkSession, tmp_path: Path, partitions: int
) -> None:
    def outcome(name: str, *, repartitions: bool) -> list[list[Any]]:
        feed, checkpoint, out = Feed(spark, tmp_path / name, SCHEMA), tmp_path / f"{name}.cp", []
        for run in range(RUNS):
            feed.add(*drawn(run))
            if repartitions and run == 3:
                spark._streamingCheckpointManager.repartition(str(checkpoint), partitions)
            marked = tidemark.with_watermark(
                feed.stream(), "time", "10 minutes", key="readings", split_by="device"
            )
            windows = marked.groupBy(F.window("time", "5 minutes"), "device").count()
            out.append(run_once(windows.select("window.start", "device", "count"), checkpoint))
        return out

    with with_settings(spark, {"spark.sql.streaming.stateStore.providerClass": ROCKSDB}):
        expected = outcome("undisturbed", repartitions=False)
        found = outcome("repartitioned", repartitions=True)
    assert sum(map(len, expected)) > 10
    assert found == expected


@pytest.mark.parametrize(
    "delays",
    [
        pytest.param("10 minutes,1 hour,1 hour,10 minutes,10 minutes", id="longer and back"),
        pytest.param("1 hour,1 second,1 second,1 second,1 second", id="shorter"),
        pytest.param("10 minutes,0 seconds,2 hours,0 seconds,15 minutes", id="to and fro"),
    ],
)
def test_a_changed_delay_loses_and_doubles_no_held_row(
    kept: Callable[[str], Kept], delays: str
) -> None:
    found = through(kept("changed"), lambda _, __: None, delays)
    found.is_in_order()


def test_clocks_taken_back_leave_held_rows_where_they_are(
    spark: SparkSession, kept: Callable[[str], Kept]
) -> None:
    def back(of: Kept, run: int) -> None:
        if run == 3:
            held = of.accounts[-1][2]
            assert held > 10
            done = tidemark.correct(of.checkpoint, key="readings", to=clock("10:00"))
            assert done.before and done.watermark and done.before > done.watermark
            of.accounts.append((of.accounts[-1][0], of.accounts[-1][1], held))

    found = through(kept("corrected"), back)
    # Rows behind the old watermark come again on time, after later ones. Each batch is in order for itself.
    found.is_in_order(found.batches)


def test_a_row_of_the_far_future_is_held_after_clocks_were_taken_back(
    kept: Callable[[str], Kept],
) -> None:
    found = kept("future")
    found.feed.add(*drawn(0))
    found.run()
    found.feed.add(
        *({"n": 500 + n, "device": f"d{n}", "time": "2100-01-01T00:00:00Z"} for n in range(3))
    )
    found.run()
    found.nothing_is_lost_or_doubled()
    assert found.accounts[-1][2] == 3
    tidemark.correct(found.checkpoint, key="readings", to=clock("10:20"))
    for run in (3, 4):
        found.feed.add(*drawn(run))
        found.run()
        found.nothing_is_lost_or_doubled()
    # The watermark moves on from where it was set, and does not come to the three rows.
    assert found.accounts[-1][2] > 3
    assert all(row["time"].year == 2024 for row in found.emitted())
    assert len(found.emitted()) > 60
    found.is_in_order()


def test_held_rows_come_out_when_the_split_that_held_them_is_forgotten(
    kept: Callable[[str], Kept],
) -> None:
    def outcome(name: str, *, forgets: bool) -> Kept:
        found = kept(name)
        found.feed.add({"n": 900, "device": "dead", "time": "09:00"})
        for run in range(RUNS):
            found.feed.add(*drawn(run))
            if forgets and run == 3:
                assert len(found.emitted()) == 0
                tidemark.forget(found.checkpoint, "readings", "dead")
            found.run()
            found.nothing_is_lost_or_doubled()
        found.is_in_order()
        return found

    held, forgotten = outcome("held", forgets=False), outcome("forgotten", forgets=True)
    # The split is at 9:00 less the delay.
    assert held.emitted() == []
    assert held.accounts[-1] == (1 + 40 * RUNS, 0, 1 + 40 * RUNS)
    assert len(forgotten.emitted()) > 100
    assert 900 in {row["n"] for row in forgotten.emitted()}
