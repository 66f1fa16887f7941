"""`show_inputs=False`: no error, log or figure has a value of an input, which may be personal data. No Spark."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from support.async_calls import IDS, STATS, call_all, rules, set_seconds

from tidemark import TidemarkError
from tidemark._calls.arrow import columns
from tidemark._calls.stats import Stats
from tidemark._calls.worker import Worker

SECRET = "ada@example.com"
BOTH = pytest.mark.parametrize("shows_inputs", [True, False])


def text_of(raised: pytest.ExceptionInfo[TidemarkError]) -> str:
    return f"{raised.value} {dict(raised.value.parameters)}"


def require(text: str, shows_inputs: bool) -> None:
    assert (SECRET in text) == shows_inputs
    assert ("inputs that are not shown" in text) != shows_inputs


@BOTH
def test_the_error_of_a_failed_call_names_its_inputs_if_it_may(shows_inputs: bool) -> None:
    async def call(value: str) -> str:
        raise OSError("down")

    with pytest.raises(TidemarkError) as raised:
        call_all(call, [[SECRET]], shows_inputs=shows_inputs)
    assert raised.value.code == "ASYNC_CALL_FAILED"
    require(text_of(raised), shows_inputs)


@BOTH
def test_the_error_of_a_wrong_result_names_its_inputs_if_it_may(shows_inputs: bool) -> None:
    async def call(value: str) -> object:
        return 1.5

    own = rules(shows_inputs=shows_inputs)
    start = lambda: Worker(own, call, True, None, IDS, STATS)  # noqa: E731
    with pytest.raises(TidemarkError) as raised:
        list(columns([[pa.array([SECRET])]], own, pa.int64(), False, start))
    assert raised.value.code == "ASYNC_RESULT_TYPE"
    require(text_of(raised), shows_inputs)


@BOTH
def test_the_error_of_stuck_slots_names_the_oldest_call_if_it_may(shows_inputs: bool) -> None:
    release = threading.Event()

    def call(value: str) -> str:
        release.wait(60)
        return value

    own = rules(
        shows_inputs=shows_inputs, concurrency=1, timeout=0.05, on_error=lambda *_: None,
        origin=f"stuck, {shows_inputs}",
    )  # fmt: skip
    worker = Worker(own, call, False, None, IDS, STATS, patience=0.0)
    try:
        with pytest.raises(TidemarkError) as raised:
            list(columns([[pa.array([SECRET, "b"])]], own, pa.string(), False, lambda: worker))
    finally:
        release.set()
    assert raised.value.code == "ASYNC_SLOTS_STUCK"
    require(text_of(raised), shows_inputs)


@BOTH
def test_the_log_names_the_call_that_blocks_the_loop_if_it_may(
    shows_inputs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_seconds(monkeypatch, "_STILL_SECONDS", 0.1)
    named, seen = threading.Event(), []

    def note(record: logging.LogRecord) -> None:
        seen.append(record.getMessage())
        named.set()

    monkeypatch.setattr(logging.getLogger("tidemark"), "handle", note)

    async def call(value: str) -> str:
        assert named.wait(60)
        return value

    assert call_all(call, [[SECRET]], shows_inputs=shows_inputs) == [[SECRET]]
    require(seen[0], shows_inputs)


@pytest.mark.parametrize(("shows_inputs", "expected"), [(True, f"user='{SECRET}'"), (False, "")])
def test_the_figures_of_a_batch_name_the_slowest_call_if_they_may(
    shows_inputs: bool, expected: str
) -> None:
    async def call(value: str) -> str:
        await asyncio.sleep(0)
        return value

    stats = Stats(rules(shows_inputs=shows_inputs).slowest)
    call_all(call, [[SECRET]], stats=stats, shows_inputs=shows_inputs)
    figures = (stats.take() or "").split("\n")
    assert figures[0].split()[0] == "1"
    assert float(figures[2]) > 0
    assert figures[3] == expected


@BOTH
def test_on_error_has_the_inputs_also_if_nothing_shows_them(shows_inputs: bool) -> None:
    on_error: Callable[..., Any] = lambda error, value: value  # noqa: E731

    async def call(value: str) -> str:
        raise OSError("down")

    found = call_all(call, [[SECRET]], on_error=on_error, shows_inputs=shows_inputs)
    assert found == [[SECRET]]
