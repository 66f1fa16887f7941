"""`kill -9` of the driver, of an executor and of a Python worker while 64 calls of `map_async` are in flight."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.counting_service import CountingService, doubled_by, eventually, write_ids
from support.processes import SCRIPTS, killed_once_there_is, run_script

pytestmark = [pytest.mark.kill, pytest.mark.timeout(600)]


def test_a_killed_driver_loses_no_row_and_its_calls_have_their_ids_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_ids(tmp_path / "in", 0, range(100))
    write_ids(tmp_path / "in", 1, range(100, 300))
    paths = [str(tmp_path / name) for name in ("in", "checkpoint", "out")]
    sign = tmp_path / "sign"
    with CountingService() as service:
        # All of the first batch, and some of the second one, which has 64 in flight then.
        service.answer(140)
        service.when_held(64, lambda: sign.write_text("64"))
        command = [sys.executable, str(SCRIPTS / "async_endless.py"), *paths, str(service.port)]
        killed_once_there_is(sign, command)
        eventually("its connections and processes are gone", lambda: is_gone(service))
        before = service.times_called()
        assert len(service.calls) == 140 + 64
        service.answer_all()

        rows = spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).json(paths[0])
        writer = doubled_by(service.port, rows).writeStream.option("checkpointLocation", paths[1])
        writer.trigger(availableNow=True).start(paths[2]).awaitTermination()
        eventually("all connections are closed", lambda: service.connections == 0)
        found = spark.read.parquet(paths[2]).orderBy("id").collect()
        times, ids = service.times_called(), service.ids()
    assert [tuple(row) for row in found] == [(n, 2 * n) for n in range(300)]
    # The batch that had not ended was called as a whole again, and with the same ids.
    assert times == {n: before.get(n, 0) + (n >= 100) for n in range(300)}
    assert sum(times.values()) == 300 + 104
    assert all(len(of) == 1 for of in ids.values())
    assert len(set.union(*ids.values())) == 300


def is_gone(service: CountingService) -> bool:
    return service.connections == 0 and not service.processes()


def test_a_killed_worker_and_a_killed_executor_lose_no_row_and_leave_nothing(
    tmp_path: Path,
) -> None:
    found = run_script("async_cluster_kill.py", str(tmp_path))
    for victim in ("worker", "executor"):
        batch = found[victim]
        assert batch["rows"] == batch["expected"], victim
        # 40 were answered and 64 in flight when it was killed. The task ran again, with the same ids.
        assert (batch["called_twice"], batch["called_more"]) == (104, 0), victim
        assert (batch["most_ids"], batch["ids"]) == (1, 200), victim
        assert batch["most_held"] == 64, victim
        assert batch["left"] == [], victim
