"""What a task of `map_async` is sent, and the Arrow values that it takes and gives, without Spark."""

from __future__ import annotations

import ast
import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType
from support.async_calls import IDS, RULES, STATS, doubled, rules
from support.raising import raising

from tidemark import TidemarkError
from tidemark._calls.arrow import STATS as STATS_FIELD
from tidemark._calls.arrow import columns, with_stats_type
from tidemark._calls.shipping import Given, shipped
from tidemark._calls.worker import Worker


def arrays(function: Callable[..., Any], kind: pa.DataType, *values: pa.Array) -> list[Any]:
    named = rules(names=tuple("abc"[: len(values)]))
    is_async = asyncio.iscoroutinefunction(function)
    start = lambda: Worker(named, function, is_async, None, IDS, STATS)  # noqa: E731
    (column,) = columns([values], named, kind, False, start)
    assert column.type == kind
    return list(column.to_pylist())


def test_a_result_of_a_wrong_type_names_its_row() -> None:
    for function, kind, row in [
        (lambda a: "x" if a == 3 else a, pa.int64(), 3),
        (lambda a: {"nmae": 1} if a == 3 else None, pa.struct({"name": pa.int64()}), 3),
        (lambda a: doubled(a), pa.int64(), 1),
        (lambda a: 2**40, pa.int32(), 1),
    ]:
        with raising("ASYNC_RESULT_TYPE", inputs=f"a={row}", dataType=kind):
            arrays(function, kind, pa.array([1, 2, 3]))


def test_an_input_that_python_does_not_have_is_named() -> None:
    far = pa.array([2**62], pa.timestamp("us", "UTC"))
    by_list = pa.array([[([1], 1)]], pa.map_(pa.list_(pa.int64()), pa.int64()))
    for values in far, by_list:
        with raising("ASYNC_INPUT_VALUE", input="a", column="profile"):
            arrays(lambda a: 1, pa.int64(), values)


def test_rows_of_one_key_are_called_in_order_for_every_type_of_key() -> None:
    keys = pa.array([float("nan"), float("nan"), None, None, 1.0])
    flying: list[Any] = []

    async def call(place: int) -> int:
        flying.append(place)
        assert len(flying) <= 3
        assert not {0, 1} <= set(flying)
        assert not {2, 3} <= set(flying)
        for _ in range(5):
            await asyncio.sleep(0)
        flying.remove(place)
        return place

    batch = (pa.array(range(5)), keys)
    start = lambda: Worker(RULES, call, True, None, IDS, STATS)  # noqa: E731
    (column,) = columns([batch], RULES, pa.int64(), True, start)
    assert column.to_pylist() == [0, 1, 2, 3, 4]


def test_a_worker_without_tidemark_runs_what_is_sent() -> None:
    async def call(value: int) -> dict[str, Any]:
        return {"value": value, "has_tidemark": bool(sys.modules.get("tidemark"))}

    kind = pa.struct({"value": pa.int64(), "has_tidemark": pa.bool_()})
    task = shipped(RULES, kind, False, Given(call, True, None, lambda *_: None))
    done = run_by_a_worker(task, [pa.array([1, 2]), pa.array([3])])
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.decode().splitlines()
    found = [[row["value"] for row in batch] for batch in ast.literal_eval(lines[0])]
    assert found == [
        [{"value": 1, "has_tidemark": False}, {"value": 2, "has_tidemark": False}],
        [{"value": 3, "has_tidemark": False}],
    ]
    assert lines[1] == "[]"


def test_a_worker_without_tidemark_makes_ids_of_calls() -> None:
    import tidemark
    from tidemark import call_id

    async def by_module(value: int) -> str:
        return tidemark.call_id()

    async def by_name(value: int) -> str:
        return call_id()

    found = set()
    for call in by_module, by_name:
        task = shipped(RULES, pa.string(), False, Given(call, True, None, None))
        done = run_by_a_worker(task, [pa.array([1, 1]), pa.array([1])])
        assert done.returncode == 0, done.stderr.decode()
        found.add(tuple(re.findall(r"[0-9a-f-]{36}", done.stdout.decode())))
    (ids,) = found
    assert len(set(ids)) == 3


def test_a_function_whose_module_the_worker_lacks_is_named(tmp_path: Any, monkeypatch: Any) -> None:
    (tmp_path / "only_here.py").write_text("def call(value): return value\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here  # type: ignore[import-not-found]

    task = shipped(RULES, pa.int64(), False, Given(only_here.call, False, None, None))
    done = run_by_a_worker(task, [pa.array([1])])
    assert done.returncode != 0
    assert "TIDEMARK.ASYNC_NOT_IMPORTABLE" in done.stderr.decode()
    assert "No module named 'only_here'" in done.stderr.decode()


def run_by_a_worker(task: Any, batches: list[Any]) -> subprocess.CompletedProcess[bytes]:
    """Runs a task without Tidemark, and prints its results and what is then there of Tidemark.

    It runs in a process of its own, as the pickler gives the classes of this one other methods.
    """
    from pyspark import cloudpickle

    program = """if True:
        import pickle, sys
        sys.modules["tidemark"] = None  # as if it were not installed
        task, batches = pickle.load(sys.stdin.buffer)
        print([column.to_pylist() for column in task(iter(batches))])
        print([name for name, module in sys.modules.items() if module and "tidemark" in name])
    """
    sent = cloudpickle.dumps((task, batches))
    command = [sys.executable, "-c", program]
    return subprocess.run(command, input=sent, capture_output=True, check=False)


def test_the_engine_knows_the_functions_by_their_names_and_by_their_results() -> None:
    for has_key, prefix in (True, "KeyedPrefix"), (False, "Prefix"):
        task = shipped(RULES, pa.int64(), has_key, Given(doubled, True, None, None))
        assert task.__name__ == f"{read_in_the_engine(rf'val {prefix} = {TEXT}')}profile"
    assert read_in_the_engine(rf"stats.name == {TEXT}") == STATS_FIELD
    (value, stats) = with_stats_type(LongType()).fields
    assert (value.dataType, stats.name) == (LongType(), STATS_FIELD)


TEXT = '"(.*?)"'


def read_in_the_engine(pattern: str) -> str:
    (file,) = (Path(__file__).parents[2] / "jvm" / "src" / "main").rglob("PythonCalls.scala")
    (text,) = re.findall(pattern, file.read_text(encoding="utf-8"))
    return str(text)


def test_the_last_row_of_each_batch_says_what_the_calls_were() -> None:
    task = shipped(RULES, pa.int64(), False, Given(doubled, True, None, None))
    batches = [pa.array([1, 2, 0]), pa.array([], pa.int64()), pa.array([3])]
    found = [column.to_pylist() for column in task(iter(batches))]
    assert [[row["value"] for row in batch] for batch in found] == [[2, 4, 0], [], [6]]
    figures = [[row[STATS_FIELD] for row in batch] for batch in found]
    assert figures[0][:2] == [None, None]
    calls = [int(text.split()[0]) for batch in figures for text in batch if text]
    assert sum(calls) == 4


def test_what_cannot_be_pickled_is_refused_where_it_is_given() -> None:
    lock = threading.Lock()
    with pytest.raises(TidemarkError) as raised:
        shipped(RULES, pa.int64(), False, Given(lambda value: lock, False, None, None))
    assert raised.value.code == "ASYNC_NOT_SENDABLE"


def test_the_pickler_forgets_tidemark_again() -> None:
    from pyspark import cloudpickle

    shipped(RULES, pa.int64(), False, Given(doubled, True, None, None))
    assert "tidemark" not in cloudpickle.list_registry_pickle_by_value()
