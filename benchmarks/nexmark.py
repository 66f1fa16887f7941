"""Queries after Nexmark, an auction house, each with both state stores and from its first row to its last.

They are Spark's own DataFrames in append mode. Where the original is otherwise, the query says so.
"""

from __future__ import annotations

import inspect
import re
import statistics
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from nexmark_data import LONGEST, STREAMS, Sizes, written
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from runs import (
    ROCKSDB,
    head,
    interleaved,
    line,
    repeated,
    state_store,
    whole,
)

from common.settings import with_settings

DELAY = "4 seconds"
STORES = {
    "HDFSBackedStateStoreProvider": 1,
    ROCKSDB: 8,
}
"""Each with a divisor of the events: joins take far longer with the second."""

_DATA = Path(__file__).parent.parent / "target" / "nexmark"

Query = Callable[..., DataFrame]
"""Takes the streams that its parameters name."""


def q0(bids: DataFrame) -> DataFrame:
    """All bids, as they are."""
    return bids


def q3(auctions: DataFrame, persons: DataFrame) -> DataFrame:
    """Who sells things of a category in some states. As in the original nothing is ever forgotten."""
    some = auctions.where("category = 10")
    near = persons.where("state IN ('OR', 'ID', 'CA')")
    return some.join(near, F.expr("seller = person")).select("name", "city", "state", "id")


def q4(auctions: DataFrame, bids: DataFrame) -> DataFrame:
    """Average price of a category. Of auctions opened in the same ten seconds; the original has one forever."""
    highest = (
        _won(auctions, bids)
        .groupBy("id", "category", "opened")
        .agg(F.max("price").alias("highest"))
    )
    return _averages(highest)


def q4_by_both_times(auctions: DataFrame, bids: DataFrame) -> DataFrame:
    """As q4, but of the highest price in each ten seconds of an auction: both times of the join are grouped by."""
    each = F.window("bid_at", "10 seconds")
    highest = (
        _won(auctions, bids)
        .groupBy(each, "id", "category", "opened")
        .agg(F.max("price").alias("highest"))
    )
    return _averages(highest)


def _averages(highest: DataFrame) -> DataFrame:
    return highest.groupBy(F.window("opened", "10 seconds"), "category").agg(F.avg("highest"))


def q5(bids: DataFrame) -> DataFrame:
    """The auction with the most bids in ten seconds, every two. The first of several; the original has them all."""
    counts = bids.groupBy(F.window("bid_at", "10 seconds", "2 seconds"), "auction").count()
    hottest = F.expr("max(struct(count, -auction AS auction))").alias("most")
    most = counts.groupBy("window").agg(hottest)
    return most.selectExpr("window", "-most.auction AS auction", "most.count")


def q7(bids: DataFrame) -> DataFrame:
    """The bids that are the highest of their ten seconds."""
    highest = bids.groupBy(F.window("bid_at", "10 seconds")).agg(F.max("price").alias("highest"))
    closed = highest.select(F.window_time("window").alias("closed"), "highest")
    within = "bid_at > closed - INTERVAL 10 SECONDS AND bid_at <= closed"
    found = bids.join(closed, F.expr(f"price = highest AND {within}"))
    return found.select("auction", "bidder", "price", "bid_at")


def q8(auctions: DataFrame, persons: DataFrame) -> DataFrame:
    """Who sold something in the ten seconds in which they came."""
    ten = "10 seconds"
    came = persons.groupBy(F.window("registered", ten).alias("came"), "person", "name").count()
    sold = auctions.groupBy(F.window("opened", ten).alias("sold"), "seller").count()
    return came.join(sold, F.expr("person = seller AND came = sold")).select(
        "person", "name", "came"
    )


def q9(auctions: DataFrame, bids: DataFrame) -> DataFrame:
    """The winning bid of each auction. When it was made is a number behind the join, as stock takes one event time."""
    made = _won(auctions, bids).select(
        "id", "item", "category", "opened", "bidder", "price", F.unix_micros("bid_at").alias("made")
    )
    best = F.max_by(F.struct("bidder", "price", "made"), F.expr("struct(price, -made)"))
    return made.groupBy("id", "item", "category", "opened").agg(best.alias("won"))


def q11(bids: DataFrame) -> DataFrame:
    """Bids of each bidder without a pause of ten seconds."""
    return bids.groupBy("bidder", F.session_window("bid_at", "10 seconds")).count()


def _won(auctions: DataFrame, bids: DataFrame) -> DataFrame:
    # That all are closed after so long says the same as `expires`, in terms of watermarks.
    closed = f"bid_at <= expires AND bid_at <= opened + INTERVAL {LONGEST} SECONDS"
    return auctions.join(bids, F.expr(f"id = auction AND bid_at >= opened AND {closed}"))


QUERIES: dict[str, Query] = {
    "q0 pass through": q0,
    "q3 local item suggestion": q3,
    "q4 average price for a category": q4,
    "q4 by both times": q4_by_both_times,
    "q5 hot items": q5,
    "q7 highest bid": q7,
    "q8 new users": q8,
    "q9 winning bids": q9,
    "q11 user sessions": q11,
}


def nexmark(spark: SparkSession, rounds: int, sizes: Sizes, stores: Iterable[str] = STORES) -> None:
    """Prints thousands of rows a second of each query by both engines, and the most rows in state."""
    print(
        "\nNexmark: rows a second of CPU time of tasks, and from start to end; most rows in state"
    )
    for store in stores:
        smaller = Sizes(sizes.batches, sizes.events // STORES[store])
        folder = written(spark, smaller, _DATA)
        print(head(f"{store}, {smaller.batches} batches of {smaller.events:,} events"))
        with with_settings(spark, state_store(store)):
            for label, query in QUERIES.items():
                _measure(spark, rounds, label, query, smaller, folder)


def _measure(
    spark: SparkSession, rounds: int, label: str, query: Query, sizes: Sizes, folder: Path
) -> None:
    thousands = sizes.rows(*streams(query)) / 1000
    # This warms them up as well.
    refused = agree(spark, query, folder)

    def measure(engine: str) -> dict[str, float]:
        run = whole(spark, engine, lambda: query(**streaming(spark, query, folder)))
        rates = {"": thousands / run.task_cpu, ": wall time": thousands / run.wall}
        return {**rates, "state": run.peak_state}

    if refused:
        runs = repeated(rounds, measure, ["tidemark"], warmed_up=True)["tidemark"]
        alone = {figure: statistics.median(run[figure] for run in runs) for figure in runs[0]}
        print(f"{label:42} {alone['']:19.1f} k/s      stock: {refused}; {_state(alone['state'])}")
        return
    found = interleaved(rounds, measure, warmed_up=True)
    state = found.pop("state")
    for figure, compared in found.items():
        print(line(label + figure, "k/s", compared), end="")
        print(f"  {_state(*state[:2])}" if figure == "" else "", flush=True)


def _state(*rows: float) -> str:
    return "state " + ", ".join(f"{most:,.0f}" for most in rows)


def agree(spark: SparkSession, query: Query, folder: Path) -> str | None:
    """Fails if Tidemark's rows are not stock's; if stock refuses the query, those over tables, and says the refusal."""
    refused = None
    try:
        expected = digest(spark, "stock", query, folder)
    except StreamingQueryException as error:
        refused = _condition(error)
        expected = _digest(query(**_tables(spark, query, folder)))
    found = digest(spark, "tidemark", query, folder)
    assert found == expected, f"{query.__name__}: {found} with Tidemark, {expected} expected"
    return refused


def digest(spark: SparkSession, engine: str, query: Query, folder: Path) -> tuple[int, int]:
    """How many rows a query gives in all, and a number made from all of them in any order."""
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as out:
        whole(
            spark,
            engine,
            lambda: query(**streaming(spark, query, folder)),
            lambda writer: writer.format("parquet").option("path", out),
        )
        return _digest(spark.read.parquet(out))


def _digest(rows: DataFrame) -> tuple[int, int]:
    number = F.sum(F.xxhash64(*rows.columns).cast("DECIMAL(38, 0)"))
    (found,) = rows.agg(F.count("*"), number).collect()
    return found[0], int(found[1] or 0)


def _condition(error: StreamingQueryException) -> str:
    """The name of what is wrong, which the error itself says in words alone."""
    named = re.search(r"exception: \[([A-Z_]+)", str(error))
    return named.group(1) if named else str(error).splitlines()[0]


def streams(query: Query) -> list[str]:
    """Those that a query reads."""
    return list(inspect.signature(query).parameters)


def streaming(spark: SparkSession, query: Query, folder: Path) -> dict[str, DataFrame]:
    """A query's streams, a file of each a batch."""
    return {name: _stream(spark, folder, name) for name in streams(query)}


def _stream(spark: SparkSession, folder: Path, name: str) -> DataFrame:
    files = str(folder / name)
    reader = spark.readStream.schema(spark.read.parquet(files).schema)
    return _timed(name, reader.option("maxFilesPerTrigger", "1").parquet(files))


def _tables(spark: SparkSession, query: Query, folder: Path) -> dict[str, DataFrame]:
    """The same without the rows that end them: what those are of is not closed."""
    files = {name: sorted(map(str, (folder / name).glob("*.parquet"))) for name in streams(query)}
    return {name: _timed(name, spark.read.parquet(*paths[:-1])) for name, paths in files.items()}


def _timed(name: str, rows: DataFrame) -> DataFrame:
    return rows.withWatermark(STREAMS[name], DELAY)
