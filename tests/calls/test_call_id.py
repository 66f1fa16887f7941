"""The ids of calls: the same for a call that is made again, and another one for any other. No Spark."""

from __future__ import annotations

import asyncio
import datetime
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from support.async_calls import call_all

import tidemark
from tidemark import TidemarkError
from tidemark._calls.call_id import CallIds, task_name


async def in_the_loop(value: Any) -> str:
    await asyncio.sleep(0)
    return tidemark.call_id()


def in_a_thread(value: Any) -> str:
    return tidemark.call_id()


def ids(function: Any, batches: list[list[Any]], task: str = "query/7/0/call") -> list[str]:
    found = call_all(function, batches, ids=CallIds(task))
    return [call for batch in found for call in batch]


@pytest.mark.parametrize("function", [in_the_loop, in_a_thread])
def test_calls_have_the_same_ids_again_and_equal_rows_differ(function: Any) -> None:
    found = ids(function, [[1, 2, 1], [1, None]])
    assert len(set(found)) == 5
    # The rows may come in another order, and in other batches of Arrow.
    assert sorted(ids(function, [[None, 1], [1, 1, 2]])) == sorted(found)
    for other in "query/8/0/call", "query/7/1/call", "another/7/0/call", "query/7/0/answer":
        assert not set(ids(function, [[1, 2, 1, 1, None]], other)) & set(found)


def test_an_id_belongs_to_a_row_and_not_to_its_place() -> None:
    (first, _), (_, second) = ids(in_the_loop, [["a", "b"]]), ids(in_the_loop, [["b", "a"]])
    assert first == second


@pytest.mark.parametrize("is_async", [True, False])
def test_retries_of_a_call_have_its_id_however_often_it_asks(is_async: bool) -> None:
    seen: list[str] = []

    def asking(value: int) -> int:
        seen.extend([tidemark.call_id(), tidemark.call_id()])
        if len(seen) < 6:
            raise OSError
        return value

    async def asking_in_the_loop(value: int) -> int:
        return asking(value)

    call_all(asking_in_the_loop if is_async else asking, [[1]], retries=2)
    assert len(seen) == 6
    assert len(set(seen)) == 1


def test_threads_of_asyncio_know_the_id_of_their_call() -> None:
    async def call(value: int) -> bool:
        return await asyncio.to_thread(tidemark.call_id) == tidemark.call_id()

    assert call_all(call, [[1, 2, 3]]) == [[True] * 3]


def test_equal_inputs_have_equal_ids_in_any_time_zone_and_others_do_not() -> None:
    def new(*inputs: Any) -> str:
        return CallIds("task").new(inputs)

    noon = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)
    assert new({"at": [noon]}) == new({"at": [noon.astimezone(ZoneInfo("Asia/Tokyo"))]})
    values = [
        1,
        "1",
        1.0,
        None,
        b"1",
        [1],
        {"a": 1},
        {"b": 1},
        True,
        noon,
        noon.replace(tzinfo=None),
    ]
    assert len({new(value) for value in values}) == len(values)
    assert new(1, 2) != new([1, 2]) != new(12)
    assert new("\ud800") != new("a")


def test_outside_of_a_call_there_is_no_id() -> None:
    with pytest.raises(TidemarkError) as raised:
        tidemark.call_id()
    assert raised.value.code == "ASYNC_OUTSIDE_CALL"


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (
            {
                "sql.streaming.queryId": "q",
                "streaming.sql.batchId": "7",
                "spark.sql.execution.id": "9",
            },
            "q/7/3/call",
        ),
        ({"spark.sql.execution.id": "9"}, "origin/9/3/call"),
    ],
)
def test_a_task_is_known_by_its_batch_or_in_a_batch_query_by_its_action(
    properties: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark import TaskContext

    task = SimpleNamespace(partitionId=lambda: 3, getLocalProperty=properties.get)
    monkeypatch.setattr(TaskContext, "_taskContext", task)
    assert task_name("call", "origin") == expected
