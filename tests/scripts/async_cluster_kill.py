"""`map_async` on a cluster whose Python worker, and then whose executor, is killed with 64 calls in flight."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import functions as F
from support.cluster import on_a_cluster
from support.counting_service import CountingService, doubled_by, eventually, write_ids
from support.processes import result

folder = Path(sys.argv[1])
spark = on_a_cluster(folder)


def left_in_workers() -> list[str]:
    """Threads and event loops of Tidemark's in workers that are used again."""

    @F.udf("ARRAY<STRING>")
    def look(n: int) -> list[str]:
        import os
        import threading

        files = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
        links = [os.readlink(file) for file in files if os.path.islink(file)]
        threads = [thread.name for thread in threading.enumerate()]
        return [thread for thread in threads if thread.startswith("tidemark")] + [
            link for link in links if "eventpoll" in link
        ]

    looks = spark.range(0, 16, 1, 16).select(F.explode(look("id")).alias("left"))
    return [row["left"] for row in looks.collect()]


def killed(victim: str, number: int) -> dict[str, Any]:
    """A batch whose task has 64 calls in flight when its worker or its executor is killed."""
    ids = range(1000 * number, 1000 * number + 200)
    write_ids(folder / "in", number, ids)
    service.calls.clear()
    service.answer(40)
    rows = spark.readStream.schema("id LONG").json(str(folder / "in"))
    writer = doubled_by(service.port, rows).writeStream
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "out"))
    eventually("64 calls are held", lambda: service.held == 64)
    (worker,) = {call.worker for call in service.calls}
    (daemon,) = {call.daemon for call in service.calls}
    died = worker if victim == "worker" else psutil.Process(daemon).ppid()
    os.kill(died, signal.SIGKILL)
    eventually(
        "the calls of the one that was killed have ended", lambda: worker not in service.processes()
    )
    service.answer_all()
    query.awaitTermination()
    eventually("all connections are closed", lambda: service.connections == 0)
    out = spark.read.parquet(str(folder / "out")).where(F.col("id").between(ids[0], ids[-1]))
    times = service.times_called()
    return {
        "rows": sorted(map(tuple, out.collect())),
        "expected": [(n, 2 * n) for n in ids],
        "called_twice": sum(1 for count in times.values() if count == 2),
        "called_more": sum(1 for count in times.values() if count > 2),
        "most_ids": max(map(len, service.ids().values())),
        "ids": len(set.union(*service.ids().values())),
        "most_held": service.most_held,
        "left": left_in_workers(),
    }


with CountingService() as service:
    seen = set()
    found = {}
    for number, victim in enumerate(["worker", "executor"]):
        found[victim] = killed(victim, number)
        seen |= {pid for call in service.calls for pid in (call.worker, call.daemon)}
    spark.stop()
    eventually("no worker is left", lambda: not any(map(psutil.pid_exists, seen)))
result(**found)
