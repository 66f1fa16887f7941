"""`map_async` in queries, classic and on Spark Connect."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.feeds import Feed
from support.processes import PATIENCE_SECONDS
from support.raising import raising
from support.streams import Stepper

import tidemark
from common.settings import with_settings
from tidemark import TidemarkError
from tidemark._calls.options import require_new
from tidemark.errors import error_code

SCHEMA = "id LONG, time TIMESTAMP, sent TIMESTAMP"

# Functions are defined inside the tests: Spark sends them by value, as those of a main program.


def windows(df: DataFrame) -> DataFrame:
    return df.groupBy(F.window("time", "10 minutes")).count()


def marked(feed: Feed) -> DataFrame:
    both = tidemark.with_watermark(feed.stream(), "time", "5 minutes", key="time")
    return tidemark.with_watermark(both, "sent", "1 minute", key="sent")


def test_windows_and_watermarks_behind_it_are_as_without_it(
    spark: SparkSession, feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    async def squared(n: int) -> int:
        await asyncio.sleep(0)
        return n * n

    rows = feed("orders", SCHEMA)
    plain = marked(rows)
    called = tidemark.map_async(plain, "square", squared, inputs="id", returns="LONG")
    assert called.columns == [*plain.columns, "square"]
    queries = [
        run(windows(df), checkpoint=name)
        for df, name in [(plain, "plain"), (called.where("square = id * id"), "called")]
    ]
    for minute in range(3):
        rows.add(
            *(
                {"id": n, "time": f"10:{10 * minute + n:02}", "sent": f"11:{minute:02}"}
                for n in range(9)
            )
        )
        without, with_calls = (query.step() for query in queries)
        assert without == with_calls
    assert queries[0].batches == queries[1].batches
    assert sum(len(batch) for batch in queries[1].batches) == 2
    watermarks = [query.watermarks() for query in queries]
    assert watermarks[0] == watermarks[1]
    assert None not in watermarks[0].values()
    assert set(watermarks[0]) == {"time", "sent"}


def test_rows_keep_their_order_and_their_number(spark: SparkSession) -> None:
    async def name_of(n: int | None) -> dict[str, Any] | None:
        # The earlier, the longer.
        for _ in range(50 - (n or 0) % 50):
            await asyncio.sleep(0)
        return None if n is None else {"name": f"u{n}", "tier": n}

    rows = spark.range(0, 3000, 1, 2).selectExpr(
        "IF(id % 7 = 0, NULL, id + 9007199254740992) AS id"
    )
    found = tidemark.map_async(rows, "user", name_of, inputs="id", returns="name STRING, tier LONG")
    expected = [row["id"] for row in rows.collect()]
    collected = found.collect()
    assert [row["id"] for row in collected] == expected
    assert [row["user"] and tuple(row["user"]) for row in collected] == [
        None if n is None else (f"u{n}", n) for n in expected
    ]


def test_an_array_of_results_can_be_exploded_into_rows(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    async def parts(n: int) -> list[str]:
        return [f"{n}-{part}" for part in range(n)]

    rows = feed("orders", SCHEMA)
    called = tidemark.map_async(marked(rows), "parts", parts, inputs="id", returns="ARRAY<STRING>")
    exploded = called.withColumn("part", F.explode("parts"))
    query = run(windows(exploded.where("part <> ''")))
    rows.add(*({"id": n, "time": "10:01", "sent": "10:01"} for n in (0, 1, 3)))
    rows.add({"id": 1, "time": "11:00", "sent": "11:00"})
    assert [row[1] for row in query.step()] == [4]


def test_a_row_is_called_once_however_often_its_result_is_read(spark: SparkSession) -> None:
    @contextmanager
    def calls() -> Any:
        yield []

    def numbered(calls: list[int], n: int) -> int:
        calls.append(n)
        return len(calls)

    rows = spark.range(0, 200, 1, 1)
    called = tidemark.map_async(rows, "call", numbered, inputs="id", returns="INT", service=calls)
    read = called.where("call > 0 AND call < 1000").selectExpr("call", "call + 1 AS more")
    found = sorted((row["call"], row["more"]) for row in read.where("more > 1").collect())
    assert found == [(n, n + 1) for n in range(1, 201)]


def test_a_filter_that_needs_no_result_works_below_the_calls_and_the_watermark(
    spark: SparkSession, feed: Callable[..., Feed], run: Callable[..., Stepper], tmp_path: Path
) -> None:
    log = str(tmp_path / "numbers")

    async def noted(n: int) -> int:
        with open(log, "a") as file:
            file.write(f"{n}\n")
        return n

    rows = feed("orders", SCHEMA)
    plain = marked(rows)
    called = tidemark.map_async(plain, "call", noted, inputs="id", returns="LONG")
    queries = [
        run(windows(df.where("id < 3")), checkpoint=name)
        for df, name in [(plain, "plain"), (called.where("call >= 0"), "called")]
    ]
    # What the filter leaves out is an hour ahead, and advances no watermark.
    for minute in range(0, 30, 10):
        rows.add(
            *(
                {"id": n, "time": f"{10 + n // 3}:{minute + n % 3:02}", "sent": "11:00"}
                for n in range(6)
            )
        )
        without, with_calls = (query.step() for query in queries)
        assert without == with_calls
    assert sum(len(batch) for batch in queries[1].batches) == 1
    assert queries[0].watermarks() == queries[1].watermarks()
    assert {int(n) for n in Path(log).read_text().split()} == {0, 1, 2}


@pytest.mark.more
def test_a_sort_calls_twice_unless_a_shuffle_by_a_column_is_below_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = str(tmp_path / "numbers")

    async def noted(n: int) -> int:
        with open(log, "a") as file:
            file.write(f"{n}\n")
        return -n

    def calls(df: DataFrame) -> int:
        Path(log).unlink(missing_ok=True)
        assert [row["id"] for row in df.orderBy("call").collect()] == list(range(19, -1, -1))
        return len(Path(log).read_text().split())

    rows = spark.range(0, 20, 1, 2)
    called = tidemark.map_async(rows, "call", noted, inputs="id", returns="LONG")
    assert calls(called) == 40
    assert calls(called.repartition("id")) == 20


def test_an_error_that_cannot_be_sent_to_the_driver_ends_the_query_all_the_same(
    spark: SparkSession,
) -> None:
    def broken(n: int) -> int:
        raise ValueError("half a pair: \ud800")

    called = tidemark.map_async(
        spark.range(0, 1, 1, 1), "call", broken, inputs="id", returns="LONG"
    )
    with raising("ASYNC_CALL_FAILED") as caught:
        called.collect()
    assert "half a pair: \\ud800" in str(caught.value)


def test_calls_of_a_key_follow_event_time_above_in_order(
    feed: Callable[..., Feed], run: Callable[..., Stepper]
) -> None:
    @contextmanager
    def seen() -> Any:
        yield {}

    async def number(seen: dict[int, int], device: int) -> int:
        before = seen.get(device, 0)
        await asyncio.sleep(0)
        seen[device] = before + 1
        return before + 1

    rows = feed("readings", SCHEMA)
    ordered = tidemark.in_order(rows.stream().withWatermark("time", "0 seconds"), "time", by="id")
    called = tidemark.map_async(
        ordered, "number", number, inputs="id", returns="INT", key="id", service=seen
    )
    query = run(called.select("id", F.minute("time"), "number"))
    minutes = [(n * 7) % 30 for n in range(30)]
    rows.add(*({"id": n % 3, "time": f"10:{minutes[n]:02}"} for n in range(30)))
    rows.add({"id": 9, "time": "11:00"})
    found = sorted(query.step())
    for device in range(3):
        own = sorted(minutes[n] for n in range(30) if n % 3 == device)
        assert found[10 * device : 10 * device + 10] == [
            (device, minute, place + 1) for place, minute in enumerate(own)
        ]


def test_a_key_whose_rows_may_be_in_several_tasks_is_refused(spark: SparkSession) -> None:
    async def same(n: int) -> int:
        return n

    def called(rows: DataFrame) -> int:
        found = tidemark.map_async(rows, "call", same, inputs="id", returns="LONG", key="id")
        return found.where("call = id").count()

    rows = spark.range(0, 100, 1, 4)
    assert called(rows.repartition("id")) == 100
    assert called(tidemark.in_order(rows, "id", by="id", wait=False)) == 100
    with raising("ASYNC_KEY_SPREAD"):
        called(rows)


def test_a_failed_call_ends_the_query_and_loses_nothing(
    spark: SparkSession, feed: Callable[..., Feed], tmp_path: Path
) -> None:
    async def down(n: int) -> int:
        if n == 5:
            raise OSError("the service is down")
        return n

    async def up(n: int) -> int:
        return n

    rows = feed("orders", SCHEMA)
    rows.add(*({"id": n} for n in range(10)))

    def once(function: Any, **options: Any) -> None:
        called = tidemark.map_async(
            rows.stream(), "call", function, inputs="id", returns="LONG", **options
        )
        writer = called.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
        query.awaitTermination()

    with pytest.raises(Exception, match="called 2 times with id=5.*the service is down") as raised:
        once(down, retries=1, backoff="1 millisecond")
    assert error_code(raised.value) == "ASYNC_CALL_FAILED"
    once(up)
    assert sorted(
        row["call"] for row in spark.read.parquet(str(tmp_path / "out")).collect()
    ) == list(range(10))
    rows.add({"id": 5}, {"id": 6})
    once(down, on_error="null")
    assert spark.read.parquet(str(tmp_path / "out")).where("call IS NULL").count() == 1


def test_a_column_that_nobody_reads_is_not_called(spark: SparkSession, tmp_path: Path) -> None:
    log = str(tmp_path / "calls")

    def noted(n: int) -> int:
        with open(log, "a") as file:
            file.write("x")
        return n

    called = tidemark.map_async(spark.range(10), "call", noted, inputs="id", returns="LONG")
    assert called.count() == 10
    assert called.drop("call").where("id > 4").collect() == [(n,) for n in range(5, 10)]
    assert not os.path.exists(log)
    assert called.where("call > 4").count() == 5
    assert len(Path(log).read_text()) == 10


@pytest.mark.more
def test_actions_of_foreach_batch_call_again_unless_the_batch_is_persisted(
    feed: Callable[..., Feed], tmp_path: Path
) -> None:
    def calls_of(name: str, persist: bool) -> int:
        log = str(tmp_path / f"{name}-calls")

        def noted(n: int) -> int:
            with open(log, "a") as file:
                file.write("x")
            return n

        def twice(batch: DataFrame, number: int) -> None:
            rows = batch.persist() if persist else batch
            for _ in range(2):
                assert len(rows.collect()) == 10
            if persist:
                rows.unpersist()

        called = tidemark.map_async(rows.stream(), "call", noted, inputs="id", returns="LONG")
        writer = called.writeStream.option("checkpointLocation", str(tmp_path / name))
        writer.foreachBatch(twice).trigger(availableNow=True).start().awaitTermination()
        return len(Path(log).read_text())

    rows = feed("orders", SCHEMA)
    rows.add(*({"id": n} for n in range(10)))
    assert calls_of("plain", persist=False) == 20
    assert calls_of("persisted", persist=True) == 10


def test_a_text_may_be_the_default_of_a_row_whose_call_failed(spark: SparkSession) -> None:
    async def down(n: int) -> str:
        raise OSError("the service is down")

    for default in "null", "", None:
        found = tidemark.map_async(
            spark.range(3), "call", down, inputs="id", returns="STRING",
            on_error=tidemark.Default(default),
        )  # fmt: skip
        assert [row["call"] for row in found.collect()] == [default] * 3


def test_rows_whose_inputs_are_null_are_not_called_if_that_is_asked_for(
    spark: SparkSession,
) -> None:
    async def called(n: int | None, m: int | None) -> str:
        return f"{n} {m}"

    rows = spark.range(6).selectExpr("IF(id % 2 = 0, id, NULL) AS n", "IF(id > 3, id, NULL) AS m")
    found = {
        on_null: [
            row["call"]
            for row in tidemark.map_async(
                rows, "call", called, inputs=["n", "m"], returns="STRING", on_null=on_null
            ).collect()
        ]
        for on_null in ("call", "skip")
    }
    assert found["call"] == ["0 None", "None None", "2 None", "None None", "4 4", "None 5"]
    assert found["skip"] == ["0 None", None, "2 None", None, "4 4", "None 5"]


def test_a_batch_that_runs_again_calls_with_the_same_ids(
    spark: SparkSession, feed: Callable[..., Feed], tmp_path: Path
) -> None:
    async def identified(n: int) -> str:
        return tidemark.call_id()

    rows = feed("orders", SCHEMA)

    def once(checkpoint: str, *outputs: str) -> list[list[str]]:
        # Each output of a batch is an action of its own, and makes the calls again.
        def write(batch: DataFrame, number: int) -> None:
            for output in outputs:
                batch.write.mode("append").parquet(str(tmp_path / output))

        called = tidemark.map_async(
            rows.stream(), "call", identified, inputs="id", returns="STRING"
        )
        writer = called.writeStream.option("checkpointLocation", str(tmp_path / checkpoint))
        writer.foreachBatch(write).trigger(availableNow=True).start().awaitTermination()
        return [
            sorted(row["call"] for row in spark.read.parquet(str(tmp_path / output)).collect())
            for output in outputs
        ]

    rows.add({"id": 1}, {"id": 1}, {"id": 2})
    first, second = once("checkpoint", "first", "second")
    assert len(set(first)) == 3
    assert first == second
    # The batch is done, but the checkpoint says that it is not.
    (tmp_path / "checkpoint" / "commits" / "0").unlink()
    (second_result,) = once("checkpoint", "again")
    assert second_result == first
    rows.add({"id": 1})
    (with_next,) = once("checkpoint", "again")
    assert len(set(with_next)) == 4
    (other,) = once("another", "other")
    assert not set(other) & set(with_next)


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "UTC"])
def test_results_of_every_type_come_back_as_they_are(spark: SparkSession, zone: str) -> None:
    returns = (
        "n LONG, d DECIMAL(10,2), f FLOAT, s STRING, b BINARY, day DATE, at TIMESTAMP, "
        "plain TIMESTAMP_NTZ, yes BOOLEAN, list ARRAY<TIMESTAMP>, map MAP<STRING, STRUCT<at: TIMESTAMP>>"
    )

    async def echo(row: Any) -> Any:
        return row

    values = (
        "named_struct('n', id, 'd', 1.25BD, 'f', float(0.5), 's', 'a', 'b', X'01', 'day', DATE'2026-01-02', "
        "'at', TIMESTAMP'2026-01-02 03:04:05.000006 UTC', 'plain', TIMESTAMP_NTZ'2026-01-02 03:04:05', "
        "'yes', true, 'list', array(TIMESTAMP'2026-07-02 03:04:05 UTC', null), "
        "'map', map('k', named_struct('at', TIMESTAMP'2026-07-02 03:04:05 UTC')))"
    )
    with with_settings(spark, {"spark.sql.session.timeZone": zone}):
        rows = spark.range(3).selectExpr(f"IF(id = 1, NULL, {values}) AS row")
        found = tidemark.map_async(rows, "echo", echo, inputs="row", returns=returns)
        texts = found.selectExpr("to_json(row) AS row", "to_json(echo) AS echo").collect()
        assert [row["echo"] for row in texts] == [row["row"] for row in texts]
        alone = found.selectExpr("row.at AS at", "row.list AS list", "row.s AS s")
        for name, kind in [("at", "TIMESTAMP"), ("list", "ARRAY<TIMESTAMP>"), ("s", "STRING")]:
            echoed = tidemark.map_async(alone, "echo", echo, inputs=name, returns=kind)
            assert echoed.where(f"NOT ({name} <=> echo)").count() == 0


@pytest.mark.parametrize("show_inputs", [True, False])
def test_the_progress_of_a_batch_says_what_its_calls_were(
    spark: SparkSession, feed: Callable[..., Feed], tmp_path: Path, show_inputs: bool
) -> None:
    async def call(n: int) -> int:
        if n == 3:
            raise OSError("down")
        if n == 5:
            await asyncio.sleep(0.2)
        return n

    rows = feed("orders", SCHEMA)
    rows.add(*({"id": n} for n in range(10)))
    called = tidemark.map_async(
        rows.stream(), "call", call, inputs="id", returns="LONG", concurrency=4, retries=2,
        backoff="1 millisecond", on_error="null", show_inputs=show_inputs,
    )  # fmt: skip
    writer = called.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
    query.awaitTermination()
    metrics = query.recentProgress[0]["observedMetrics"]["tidemark_calls_call"].asDict()
    # As Spark Connect has it, in 4.3.
    if "schema" in metrics:
        names = [field["name"] for field in metrics["schema"]["fields"]]
        metrics = dict(zip(names, metrics["values"], strict=True))
    counts = [metrics[name] for name in ("calls", "retries", "failed", "timed_out", "defaulted")]
    assert counts == [12, 2, 3, 0, 1]
    assert 1 <= metrics["most_in_flight"] <= 4
    assert metrics["slowest"] == ("id=5" if show_inputs else "")
    assert 200 <= metrics["slowest_ms"] < 60_000
    assert metrics["p50_ms"] <= metrics["p99_ms"] <= metrics["slowest_ms"]


def test_a_worker_that_is_used_again_has_no_thread_of_it_left(spark: SparkSession) -> None:
    def process(n: int) -> int:
        import threading

        threading.Event().wait(0.001)
        return os.getpid()

    @F.udf("pid INT, threads ARRAY<STRING>")
    def look(n: int) -> tuple[int, list[str]]:
        import threading

        names = [thread.name for thread in threading.enumerate()]
        return os.getpid(), [name for name in names if name.startswith("tidemark")]

    rows = spark.range(0, 100, 1, 1)
    called = tidemark.map_async(rows, "pid", process, inputs="id", returns="INT")
    workers = {row["pid"] for row in called.collect()}

    def threads_left() -> list[str]:
        # Enough tasks to use each of Spark's idle workers once.
        looks = spark.range(0, 32, 1, 32).select(look("id").alias("look")).select("look.*")
        found = {row["pid"]: row["threads"] for row in looks.collect()}
        assert workers & found.keys()
        return [name for pid in workers & found.keys() for name in found[pid]]

    # A thread that was told to end may take a moment.
    eventually(lambda: not threads_left())


@pytest.mark.more
def test_a_query_that_is_stopped_among_its_calls_leaves_no_process_and_loses_nothing(
    spark: SparkSession, feed: Callable[..., Feed], tmp_path: Path
) -> None:
    started, ended = str(tmp_path / "started"), str(tmp_path / "ended")

    @asynccontextmanager
    async def opened() -> AsyncIterator[str]:
        try:
            yield "client"
        finally:
            with open(ended, "a") as file:
                file.write("closed\n")

    async def forever(client: str, n: int) -> int:
        with open(started, "a") as file:
            file.write(f"{os.getpid()}\n")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            with open(ended, "a") as file:
                file.write("cancelled\n")
            raise
        return n

    async def up(client: str, n: int) -> int:
        return n

    def begin(function: Any) -> Any:
        called = tidemark.map_async(
            rows.stream(),
            "call",
            function,
            inputs="id",
            returns="LONG",
            timeout=None,
            service=opened,
        )
        writer = called.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        return writer.start(str(tmp_path / "out"))

    rows = feed("orders", SCHEMA)
    rows.add(*({"id": n} for n in range(100)))
    query = begin(forever)
    eventually(lambda: os.path.exists(started) and len(Path(started).read_text().split()) == 64)
    query.stop()
    (worker,) = set(Path(started).read_text().split())
    eventually(lambda: not os.path.exists(f"/proc/{worker}"))
    # The calls are cancelled, and then the client is closed.
    assert Path(ended).read_text().split() == ["cancelled"] * 64 + ["closed"]
    query = begin(up)
    query.processAllAvailable()
    query.stop()
    assert spark.read.parquet(str(tmp_path / "out")).where("call = id").count() == 100


def eventually(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.05)


async def anything(n: int) -> int:
    return n


@pytest.mark.parametrize(
    "changed",
    [
        {"inputs": []},
        {"inputs": 5},
        {"key": ["id"]},
        {"column": "ID"},
        {"column": ""},
        {"function": "lookup"},
        {"service": "client"},
        {"returns": "STRNG"},
        {"returns": int},
        {"returns": ""},
        {"returns": "a INT, a INT"},
        {"returns": "ARRAY<STRUCT<a: INT, a: INT>>"},
        {"returns": "INTERVAL YEAR TO MONTH"},
        {"returns": "MAP<STRING, INTERVAL MONTH>"},
        {"returns": "INTERVAL"},
        {"returns": "CHAR(3)"},
        {"on_error": tidemark.Default},
        {"concurrency": 0},
        {"concurrency": "many"},
        {"retries": -1},
        {"retries": True},
        {"timeout": "soon"},
        {"timeout": timedelta(0)},
        {"backoff": 5},
        {"ordered": None},
        {"show_inputs": None},
        {"show_inputs": "never"},
        {"on_error": "ignore"},
        {"on_error": None},
        {"on_error": {"name": 1}},
        {"on_error": tidemark.Default({"name": 1})},
        {"on_error": tidemark.Default("null")},
        {"on_error": tidemark.Default(2**70)},
        {"on_null": None},
        {"on_null": "null"},
    ],
)
def test_a_mistake_is_named(spark: SparkSession, changed: dict[str, Any]) -> None:
    given = {"column": "call", "function": anything, "inputs": "id", "returns": "LONG", **changed}
    (option,) = changed
    with raising("INVALID_OPTION", option=option):
        tidemark.map_async(spark.range(1), given.pop("column"), given.pop("function"), **given)


def test_a_mistyped_input_or_key_is_named(spark: SparkSession) -> None:
    for option, column in (("inputs", "idd"), ("key", "kye")):
        given: dict[str, Any] = {"inputs": "id", "returns": "LONG", option: column}
        with raising("UNKNOWN_COLUMN", column=column):
            tidemark.map_async(spark.range(1), "call", anything, **given)


@pytest.mark.parametrize(
    ("setting", "column", "is_new"),
    [
        ("false", "ID", False),
        ("true", "ID", True),
        ("TRUE", "ID", True),
        (" true ", "ID", True),
        ("true", "id", False),
    ],
)
def test_the_name_of_the_new_column_is_compared_as_the_session_compares_names(
    setting: str, column: str, is_new: bool
) -> None:
    # What is asked of a DataFrame: its columns, and a setting of its session.
    session = SimpleNamespace(conf=SimpleNamespace(get=lambda *_: setting))
    df: Any = SimpleNamespace(columns=["id"], sparkSession=session)
    if is_new:
        require_new(df, column)
    else:
        with pytest.raises(TidemarkError) as raised:
            require_new(df, column)
        assert raised.value.code == "INVALID_OPTION"
