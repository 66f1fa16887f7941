"""Values of each type that results may have, from Spark to a function of `map_async` and back."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from support.raising import raising

import tidemark

# A type, a value of it, and what it is in Python.
TYPES = {
    "byte": ("BYTE", "-1Y", "int"),
    "short": ("SHORT", "-300S", "int"),
    "int": ("INT", "-70000", "int"),
    "long": ("LONG", "9007199254740993L", "int"),
    "single": ("FLOAT", "float(0.1)", "float"),
    "nan": ("FLOAT", "float('NaN')", "float"),
    "double": ("DOUBLE", "0.1D", "float"),
    "number": ("DECIMAL(38, 2)", "123456789012345678901234567890.12BD", "Decimal"),
    "text": ("STRING", "'ä😀'", "str"),
    "bytes": ("BINARY", "X'00FF'", "bytes"),
    "yes": ("BOOLEAN", "true", "bool"),
    "day": ("DATE", "DATE'0001-01-01'", "date"),
    "at": ("TIMESTAMP", "TIMESTAMP'2026-01-02 03:04:05.000006 UTC'", "datetime"),
    "plain": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'2026-01-02 03:04:05.000006'", "datetime"),
    "length": (
        "INTERVAL DAY TO SECOND",
        "INTERVAL '-1 02:03:04.000005' DAY TO SECOND",
        "timedelta",
    ),
    "minutes": ("INTERVAL HOUR TO MINUTE", "INTERVAL '30:01' HOUR TO MINUTE", "timedelta"),
    "days": ("INTERVAL DAY", "INTERVAL '3' DAY", "timedelta"),
    "time": ("TIME", "TIME'01:02:03.000004'", "time"),
    "variant": ("VARIANT", "parse_json('{\"a\": [1, null]}')", "VariantVal"),
}
if not hasattr(T, "TimeType"):
    del TYPES["time"]
# Spark compares no variants.
COMPARED = {"variant": "to_json({})"}
NESTED = {
    "alone": ("{0}", "{1}", "{0}"),
    "listed": ("ARRAY<{0}>", "array({1})", "{0}[0]"),
    "mapped": ("MAP<STRING, {0}>", "map('k', {1})", "{0}['k']"),
    "inside": ("STRUCT<f: {0}>", "named_struct('f', {1})", "{0}.f"),
}


async def same(value: Any) -> Any:
    return value


@pytest.mark.parametrize("place", NESTED)
def test_values_of_each_type_are_the_same_there_and_back(spark: SparkSession, place: str) -> None:
    kind_in, value_in, part = NESTED[place]
    values = (
        f"CASE WHEN id = 0 THEN {value_in.format('', value)} END AS {name}"
        for name, (_, value, _) in TYPES.items()
    )
    rows = spark.range(2).selectExpr("id", *values)
    returns = ", ".join(f"{name} {kind_in.format(kind)}" for name, (kind, _, _) in TYPES.items())

    async def echo(*given: Any) -> Any:
        return given

    called = tidemark.map_async(rows, "echo", echo, inputs=list(TYPES), returns=returns)
    compared = [
        F.expr(f"{shown.format(part.format(name))} <=> {shown.format(part.format('echo.' + name))}")
        for name in TYPES
        for shown in [COMPARED.get(name, "{}")]
    ]
    (first, second) = called.orderBy("id").select(*compared).collect()
    assert dict(zip(TYPES, first, strict=True)) == dict.fromkeys(TYPES, True)
    assert dict(zip(TYPES, second, strict=True)) == dict.fromkeys(TYPES, True)
    assert called.where("id = 0").selectExpr(*(f"echo.{n} IS NULL" for n in TYPES)).first() == (
        (False,) * len(TYPES)
    )


def test_a_function_is_given_python_s_own_kind_of_each_type(spark: SparkSession) -> None:
    rows = spark.range(1).selectExpr(
        *(f"{value} AS {name}" for name, (_, value, _) in TYPES.items())
    )

    async def names(*given: Any) -> list[str]:
        return [type(value).__name__ for value in given]

    called = tidemark.map_async(rows, "kinds", names, inputs=list(TYPES), returns="ARRAY<STRING>")
    (found,) = called.select("kinds").collect()
    assert dict(zip(TYPES, found.kinds, strict=True)) == {
        name: kind for name, (_, _, kind) in TYPES.items()
    }


@pytest.mark.parametrize("kind", ["INTERVAL DAY TO SECOND", "VARIANT", "MAP<FLOAT, INT>"])
def test_a_result_that_would_change_in_silence_ends_the_query(
    spark: SparkSession, kind: str
) -> None:
    wrong = {
        "INTERVAL DAY TO SECOND": 1.9,
        "VARIANT": {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"},
        "MAP<FLOAT, INT>": {0.1: 1, 0.10000000149011612: 2},
    }[kind]

    async def give(n: int) -> Any:
        return wrong

    called = tidemark.map_async(spark.range(1), "call", give, inputs="id", returns=kind)
    with raising("ASYNC_RESULT_TYPE"):
        called.select("call").collect()


@pytest.mark.parametrize(
    "value", ["INTERVAL '1' YEAR", "array(INTERVAL '1' MONTH)", "struct(INTERVAL '1' MONTH AS m)"]
)
def test_an_input_that_python_has_no_values_of_is_named(spark: SparkSession, value: str) -> None:
    rows: DataFrame = spark.range(1).selectExpr(f"{value} AS months")
    for option in ({"inputs": "months"}, {"inputs": F.lit(1), "key": "months"}):
        with raising("ASYNC_INPUT_VALUE", column="call"):
            tidemark.map_async(rows, "call", same, returns="STRING", **option)


@pytest.mark.parametrize(
    "value", ["INTERVAL '1' YEAR", "array(INTERVAL '1' MONTH)", "struct(INTERVAL '1' MONTH AS m)"]
)
def test_such_an_input_is_named_by_the_worker_where_types_cannot_be_read_before(
    spark: SparkSession, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in the function of a pipeline's flow, where Spark refuses to analyse a DataFrame.
    async def call(value: Any) -> str:
        return str(value)

    monkeypatch.setitem(tidemark.map_async.__globals__, "require_readable", lambda *_: None)
    rows: DataFrame = spark.range(1).selectExpr("id", f"{value} AS months").repartition(1)
    found = tidemark.map_async(rows, "call", call, inputs="months", returns="STRING")
    with raising("ASYNC_INPUT_VALUE") as raised:
        found.collect()
    assert "The input 'months' of column 'call'" in str(raised.value)
    assert "it has an INTERVAL YEAR TO MONTH" in str(raised.value)
    keyed = tidemark.map_async(rows, "call", call, inputs="id", returns="STRING", key="months")
    with raising("ASYNC_INPUT_VALUE"):
        keyed.collect()


def test_a_client_that_cannot_be_closed_loses_no_result_and_threads_keep_to_concurrency(
    spark: SparkSession,
) -> None:
    class Client:
        def __init__(self) -> None:
            self.now = self.most = 0

        def get(self, n: int) -> int:
            self.now += 1
            self.most = max(self.most, self.now)
            time.sleep(0.05)
            self.now -= 1
            return self.most

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Client]:
        yield Client()
        raise OSError("reset by peer")

    async def through_a_thread(client: Client, n: int) -> int:
        return await asyncio.to_thread(client.get, n)

    called = tidemark.map_async(
        spark.range(0, 10, 1, 1), "most", through_a_thread, inputs="id", returns="INT",
        concurrency=2, service=opened,
    )  # fmt: skip
    most = [row.most for row in called.select("most").collect()]
    assert len(most) == 10
    assert set(most) <= {1, 2}
