"""Sees whether Spark has ended a task whose worker waits for calls."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from types import FrameType


def hangup() -> Callable[[], bool]:
    """What says whether nothing reads the results of this task any longer.

    Spark closes its connection to the worker when the rows that it has read are enough. When a task is
    killed, as by the stop of a query, Spark waits for the worker instead. The engine then makes a
    file, if the session has Tidemark's extension. A worker would learn neither by itself while it
    waits for calls. Where nothing can be found out, the answer is always no.
    """
    is_closed, mark = _closed_connection(), _mark_of_kill()
    return lambda: is_closed() or (mark is not None and os.path.exists(mark))


def _mark_of_kill() -> str | None:
    """The file that the engine makes when it sees that the task was killed: `KilledTasks` in Scala."""
    from pyspark import TaskContext

    task = TaskContext.get()
    folders = os.environ.get("SPARK_LOCAL_DIRS")
    if task is None or not folders:
        return None
    return os.path.join(folders.split(",")[0], f"tidemark-killed-{task.taskAttemptId()}")


def _closed_connection() -> Callable[[], bool]:
    connection = _connection()
    if connection is None or not hasattr(select, "poll"):
        return lambda: False
    poll = select.poll()
    # Rows that are still to be read hide the end from all other flags. Only Linux has this one.
    poll.register(connection, getattr(select, "POLLRDHUP", select.POLLHUP))
    return lambda: bool(poll.poll(0))


def _connection() -> int | None:
    """The file descriptor that `pyspark.worker.main`, which calls all of this, reads rows from."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "main" and "infile" in frame.f_locals:
            try:
                return int(frame.f_locals["infile"].fileno())
            except (AttributeError, OSError, ValueError):
                return None
        frame = frame.f_back
    return None
