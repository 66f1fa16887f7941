"""Sees whether Spark has ended a task: then nothing reads the results of its calls any longer."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable
from types import FrameType


def hangup() -> Callable[[], bool]:
    """What says whether Spark has closed its connection to the worker that runs this task.

    Spark does so when a query is stopped, a task is killed, or the rows that it has read are enough. It
    tells a worker nothing of it, which would see it only when it reads or writes again. Where the
    connection is not found, the answer is always no.
    """
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
