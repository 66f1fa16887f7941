"""Usages of `map_async` as people write them: rows are as the truth, and windows above as without calls."""

from __future__ import annotations

import asyncio
import functools
import json
import queue
import random
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support import web
from support.feeds import Feed
from support.streams import Stepper
from support.web import Reply, Request, Session, serving

import tidemark
from tidemark.errors import error_code

pytestmark = pytest.mark.more

ORDERS = "id LONG, time TIMESTAMP, user STRING, amount LONG"
STEPS = 3
ROWS_OF_STEP = 40
USERS = [f"u{n}" for n in range(7)]
Order = dict[str, Any]
# It moves the watermark past all others.
CLOSING: Order = {"id": -1, "time": "12:00", "user": "closing", "amount": 0}


@pytest.fixture(autouse=True)
def _by_value() -> Iterator[None]:
    """The functions here are sent to the workers by value, as those of a main program are."""
    modules = [sys.modules[__name__], web]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    yield
    for module in modules:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


def orders() -> list[list[Order]]:
    """The orders of each step, in a mixed order within it."""
    found = []
    for step in range(STEPS):
        minutes = [20 * step + n % 20 for n in range(ROWS_OF_STEP)]
        random.Random(step).shuffle(minutes)
        numbers = range(ROWS_OF_STEP * step, ROWS_OF_STEP * (step + 1))
        found.append(
            [
                {"id": n, "time": f"10:{minute:02}", "user": USERS[n % 7], "amount": n % 5}
                for n, minute in zip(numbers, minutes, strict=True)
            ]
        )
    return found


def windows(rows: DataFrame, column: str) -> DataFrame:
    """Windows of ten minutes, each with a column of its rows."""
    values = F.sort_array(F.collect_list(F.struct("id", column))).alias("rows")
    return rows.groupBy(F.window("time", "10 minutes")).agg(values)


def emitted(query: Stepper) -> dict[int, list[Any]]:
    """The windows of each batch that has emitted some."""
    return {
        number: [window.start for window, _ in batch]
        for number, batch in enumerate(query.batches)
        if batch
    }


class Compared:
    """Runs a query with calls, and beside it the same one without them, step by step."""

    def __init__(self, feed: Callable[..., Feed], run: Callable[..., Stepper]) -> None:
        self.feed = feed("orders", ORDERS)
        self._run = run

    def stream(self) -> DataFrame:
        return self.feed.stream().withWatermark("time", "5 minutes")

    def check(
        self,
        called: DataFrame,
        truth: Callable[[Order], object],
        *,
        column: str = "answer",
        plain: DataFrame | None = None,
        results_of: Callable[[object], list[object]] = lambda value: [value],
    ) -> None:
        """Checks every result, and in which batch each window is emitted.

        Args:
            called: The rows with their results.
            truth: The result of an order.
            column: The name of the results.
            plain: What `called` has come from; the stream of orders unless it is given.
            results_of: The rows that come of a result.
        """
        rows = self.stream() if plain is None else plain
        without = self._run(
            windows(rows.withColumn(column, F.lit(0)), column), checkpoint="without"
        )
        with_calls = self._run(windows(called, column), checkpoint="with")
        # Both have read the other input, if there is one, before the first order.
        for step in [[], *orders(), [CLOSING]]:
            if step:
                self.feed.add(*step)
            without.step()
            with_calls.step()
        assert sum(map(len, without.batches)) == 2 * STEPS
        assert emitted(with_calls) == emitted(without)
        found = [tuple(row) for batch in with_calls.batches for _, of in batch for row in of]
        expected = [
            (order["id"], result)
            for step in orders()
            for order in step
            for result in results_of(truth(order))
        ]
        assert sorted(found) == sorted(expected)


@pytest.fixture
def compared(feed: Callable[..., Feed], run: Callable[..., Stepper]) -> Compared:
    return Compared(feed, run)


def shout(request: Request) -> Reply:
    """Answers with the last part of the path in capitals, after a while."""
    time.sleep(0.002)
    return Reply(request.path.rpartition("/")[2].upper())


# 1. A client of HTTP that is kept open.


async def name_of(session: Session, user: str) -> str:
    async with session.get(f"/users/{user}") as response:
        response.raise_for_status()
        return await response.text()


def test_a_client_of_http_is_opened_once_in_a_task(compared: Compared) -> None:
    with serving(shout) as users:
        called = tidemark.map_async(
            compared.stream(), "answer", name_of, inputs="user", returns="STRING", concurrency=4,
            service=functools.partial(Session, users.address),
        )  # fmt: skip
        compared.check(called, lambda order: order["user"].upper())
        assert len(users.requests) == STEPS * ROWS_OF_STEP + 1
        assert 1 < users.most_in_flight <= 4
        # A task has a session, which keeps its connections. Each batch here is one task.
        assert users.connections <= 4 * (STEPS + 1)


# 2. A pool of connections to a database, whose client blocks.


@contextmanager
def connections(path: str, size: int) -> Iterator[queue.Queue[sqlite3.Connection]]:
    pool: queue.Queue[sqlite3.Connection] = queue.Queue()
    for _ in range(size):
        pool.put(sqlite3.connect(path, check_same_thread=False))
    try:
        yield pool
    finally:
        while not pool.empty():
            pool.get().close()


def city_of(pool: queue.Queue[sqlite3.Connection], user: str) -> tuple[str, int] | None:
    connection = pool.get()
    try:
        found = connection.execute("SELECT city, tier FROM users WHERE id = ?", [user])
        row: tuple[str, int] | None = found.fetchone()
        return row
    finally:
        pool.put(connection)


def test_a_pool_of_connections_to_a_database_is_used_in_threads(
    compared: Compared, tmp_path: Path
) -> None:
    path = str(tmp_path / "users.db")
    # The last one is in no database.
    cities = {user: (f"city of {user}", n) for n, user in enumerate(USERS[:-1])}
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE users (id TEXT PRIMARY KEY, city TEXT, tier INT)")
        rows = [(user, *values) for user, values in cities.items()]
        database.executemany("INSERT INTO users VALUES (?, ?, ?)", rows)
    database.close()
    called = tidemark.map_async(
        compared.stream(), "profile", city_of, inputs="user", returns="city STRING, tier INT",
        concurrency=4, service=functools.partial(connections, path, 4),
    )  # fmt: skip
    called = called.withColumn("answer", F.coalesce("profile.city", F.lit("-")))
    compared.check(called, lambda order: cities.get(order["user"], ("-", 0))[0])


# 3. An endpoint with a rate limit, such as that of a language model.


async def summary_of(session: Session, text: str) -> str:
    while True:
        async with session.post("/summaries", json.dumps({"text": text})) as response:
            if response.status != 429:
                response.raise_for_status()
                summary: str = (await response.json())["summary"]
                return summary
        # The call keeps its slot, so the task asks less while the service has enough.
        await asyncio.sleep(float(response.headers["Retry-After"]))


def test_an_endpoint_that_refuses_calls_for_a_while_gets_them_again_later(
    compared: Compared,
) -> None:
    def summarize(request: Request) -> Reply:
        if request.in_flight > 3:
            return Reply("", 429, {"Retry-After": "0.02"})
        time.sleep(0.005)
        return Reply(json.dumps({"summary": json.loads(request.body)["text"][::-1]}))

    with serving(summarize) as model:
        called = tidemark.map_async(
            compared.stream(), "answer", summary_of, inputs="user", returns="STRING",
            concurrency=8, service=functools.partial(Session, model.address),
        )  # fmt: skip
        compared.check(called, lambda order: order["user"][::-1])
        assert model.statuses(429) > 0
        assert model.statuses(200) == STEPS * ROWS_OF_STEP + 1


# 4. A cache before the call. Two rows that ask for the same at one time make one call.


class Cached:
    """A session, and the answers that it has got."""

    def __init__(self, address: str) -> None:
        self._session = Session(address)
        self._answers: dict[str, asyncio.Task[str]] = {}

    async def __aenter__(self) -> Cached:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._session.__aexit__(*error)

    async def name_of(self, user: str) -> str:
        if user not in self._answers:
            self._answers[user] = asyncio.create_task(name_of(self._session, user))
        # A row that is given up must not cancel what others wait for.
        return await asyncio.shield(self._answers[user])


async def cached_name_of(cache: Cached, user: str) -> str:
    return await cache.name_of(user)


def test_a_cache_saves_calls_for_equal_inputs_of_a_task(compared: Compared) -> None:
    with serving(shout) as users:
        called = tidemark.map_async(
            compared.stream(), "answer", cached_name_of, inputs="user", returns="STRING",
            service=functools.partial(Cached, users.address),
        )  # fmt: skip
        compared.check(called, lambda order: order["user"].upper())
        # Each user once in each batch, which is one task here.
        assert len(users.requests) == len(USERS) * STEPS + 1


# 5. Two calls, the second one with what the first has returned.


async def id_of(session: Session, user: str) -> int:
    async with session.get(f"/ids/{user}") as response:
        return int(await response.text())


async def credit_of(session: Session, number: int, amount: int) -> bool:
    async with session.get(f"/credits/{number}") as response:
        return amount < int(await response.text())


def test_a_second_call_takes_what_the_first_one_has_returned(compared: Compared) -> None:
    def answer(request: Request) -> Reply:
        what, _, which = request.path[1:].partition("/")
        if what == "ids":
            return Reply("".join(filter(str.isdigit, which)) or "0")
        return Reply(str(int(which) // 2))

    with serving(answer) as bank:
        service = functools.partial(Session, bank.address)
        called = tidemark.map_async(
            compared.stream(), "number", id_of, inputs="user", returns="LONG", service=service
        )
        called = tidemark.map_async(
            called, "answer", credit_of, inputs=["number", "amount"], returns="BOOLEAN",
            service=service,
        )  # fmt: skip
        compared.check(called, lambda order: order["amount"] < int(order["user"][1:]) // 2)
        assert len(bank.requests) == 2 * (STEPS * ROWS_OF_STEP + 1)


# 6. Calls for one side of a join of two streams.


def test_calls_for_one_side_of_a_join_change_neither_sides_watermark(
    compared: Compared, feed: Callable[..., Feed]
) -> None:
    payments = feed("payments", "paid LONG, paid_at TIMESTAMP")
    for step in orders():
        payments.add(*({"paid": order["id"], "paid_at": order["time"]} for order in step))
    payments.add({"paid": -1, "paid_at": "12:00"})

    def paid(rows: DataFrame) -> DataFrame:
        right = payments.stream().withWatermark("paid_at", "1 minute")
        condition = "id = paid AND paid_at BETWEEN time AND time + INTERVAL 1 MINUTE"
        return rows.join(right, F.expr(condition), "left_outer")

    with serving(shout) as users:
        called = tidemark.map_async(
            compared.stream(), "answer", name_of, inputs="user", returns="STRING",
            service=functools.partial(Session, users.address),
        )  # fmt: skip
        compared.check(
            paid(called), lambda order: order["user"].upper(), plain=paid(compared.stream())
        )


# 7. A pipeline in event-time order: the service takes the readings of a device one by one, and in order.


async def send(session: Session, user: str, at: Any) -> str:
    async with session.post(f"/{user}", at.isoformat()) as response:
        response.raise_for_status()
        return await response.text()


def test_a_service_that_takes_a_keys_rows_in_order_never_refuses_one(compared: Compared) -> None:
    last: dict[str, str] = {}
    busy: set[str] = set()
    lock = threading.Lock()

    def take(request: Request) -> Reply:
        with lock:
            is_early = request.body < last.get(request.path, "")
            if is_early or request.path in busy:
                return Reply("out of order", 409)
            busy.add(request.path)
            last[request.path] = request.body
        time.sleep(0.001)
        with lock:
            busy.remove(request.path)
        return Reply("taken")

    with serving(take) as devices:
        ordered = tidemark.in_order(compared.stream(), "time", by="user", then="id")
        called = tidemark.map_async(
            ordered, "answer", send, inputs=["user", "time"], returns="STRING", key="user",
            service=functools.partial(Session, devices.address),
        )  # fmt: skip
        compared.check(called, lambda _: "taken")
        assert devices.most_in_flight > 1


# 8. None, one or several rows of a call.


async def offers_of(session: Session, amount: int) -> list[str]:
    async with session.get(f"/offers/{amount}") as response:
        offers: list[str] = await response.json()
        return offers


def test_a_call_makes_no_row_or_several(compared: Compared) -> None:
    def offers(request: Request) -> Reply:
        amount = int(request.path.rpartition("/")[2])
        return Reply(json.dumps([f"offer {n}" for n in range(amount)]))

    with serving(offers) as shop:
        called = tidemark.map_async(
            compared.stream(), "offers", offers_of, inputs="amount", returns="ARRAY<STRING>",
            service=functools.partial(Session, shop.address),
        )  # fmt: skip
        called = called.select("*", F.explode("offers").alias("answer"))
        compared.check(
            called,
            lambda order: [f"offer {n}" for n in range(order["amount"])],
            results_of=lambda offers: offers,  # type: ignore[arg-type, return-value]
        )


# 9. A table, and not a stream.


def test_a_table_has_the_same_results_as_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    with serving(shout) as users:
        table = spark.range(0, 500, 1, 4).selectExpr("id", "concat('u', id % 50) AS user")
        called = tidemark.map_async(
            table, "answer", name_of, inputs="user", returns="STRING", concurrency=8,
            service=functools.partial(Session, users.address),
        )  # fmt: skip
        called.write.parquet(str(tmp_path / "out"))
        found = spark.read.parquet(str(tmp_path / "out")).collect()
        assert sorted(found) == [(n, f"u{n % 50}", f"U{n % 50}") for n in range(500)]
        assert len(users.requests) == 500
        assert users.most_in_flight > 2


# 10. Windows by what the calls have returned.


async def tier_of(session: Session, user: str) -> int:
    async with session.get(f"/tiers/{user}") as response:
        return int(await response.text())


def test_windows_by_the_result_of_a_call_are_those_of_a_join_with_a_table(
    spark: SparkSession, compared: Compared, run: Callable[..., Stepper]
) -> None:
    tiers = {user: n % 3 for n, user in enumerate([*USERS, "closing"])}

    def by_tier(rows: DataFrame) -> DataFrame:
        return rows.groupBy(F.window("time", "10 minutes", "5 minutes"), "tier").agg(
            F.count("*").alias("orders"), F.sum("amount").alias("amount")
        )

    with serving(lambda request: Reply(str(tiers[request.path.rpartition("/")[2]]))) as users:
        called = tidemark.map_async(
            compared.stream(), "tier", tier_of, inputs="user", returns="INT",
            service=functools.partial(Session, users.address),
        )  # fmt: skip
        table = spark.createDataFrame(list(tiers.items()), "user STRING, tier INT")
        joined = compared.stream().join(F.broadcast(table), "user")
        queries = [run(by_tier(df), checkpoint=name) for name, df in (("a", joined), ("b", called))]
        for step in [*orders(), [CLOSING]]:
            compared.feed.add(*step)
            expected, found = (query.step() for query in queries)
            assert found == expected
        assert queries[0].batches == queries[1].batches
        assert sum(map(len, queries[1].batches)) > 2 * STEPS


# 11. A restart in the middle: the service knows a payment that it has had by the id of its call.


async def pay(session: Session, order: int, amount: int) -> str:
    headers = {"Idempotency-Key": tidemark.call_id()}
    body = json.dumps({"order": order, "amount": amount})
    async with session.post("/payments", body, headers=headers) as response:
        response.raise_for_status()
        return await response.text()


def test_a_service_books_each_payment_once_though_the_query_ends_in_the_middle(
    compared: Compared, spark: SparkSession, tmp_path: Path
) -> None:
    booked: dict[str, int] = {}
    lock = threading.Lock()
    left = [ROWS_OF_STEP + ROWS_OF_STEP // 2]

    def book(request: Request) -> Reply:
        with lock:
            if left[0] == 0:
                return Reply("the service is down", 503)
            left[0] -= 1
            key = request.headers["idempotency-key"]
            number = booked.setdefault(key, json.loads(request.body)["order"])
        return Reply(f"paid {number}")

    with serving(book) as bank:

        def start() -> None:
            called = tidemark.map_async(
                compared.feed.stream(maxFilesPerTrigger=1), "answer", pay,
                inputs=["id", "amount"], returns="STRING",
                service=functools.partial(Session, bank.address),
            )  # fmt: skip
            writer = called.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
            writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()

        for step in orders():
            compared.feed.add(*step)
        with pytest.raises(Exception, match="the service is down") as raised:
            start()
        assert error_code(raised.value) == "ASYNC_CALL_FAILED"
        assert len(booked) == ROWS_OF_STEP + ROWS_OF_STEP // 2
        left[0] = 10**6
        start()
        every = [order["id"] for step in orders() for order in step]
        assert sorted(booked.values()) == every
        found = spark.read.parquet(str(tmp_path / "out")).select("id", "answer").collect()
        assert sorted(found) == [(n, f"paid {n}") for n in every]
        # Half of the second batch was paid for twice, and booked once.
        assert bank.statuses(200) == len(every) + ROWS_OF_STEP // 2
