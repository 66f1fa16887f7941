"""`plot`: watermarks over time, of a running query or of a checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemark import _bridge
from tidemark._errors import invalid_option
from tidemark._queries.log import newest_reason, watermark_log
from tidemark._queries.report import report
from tidemark._shown import in_words, name_of, reason, within_a_page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_Node = dict[str, Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_OF_BATCH = ("late_rows", "state_rows")
_DRAWN = ("zone", "why", "history")
_OF_INPUT = ("watermark", "max_event_time", "clock")


class Plot:
    """Watermarks over time. A notebook shows it as a drawing, and `str()` in words.

    Both begin with the sentence that says why nothing comes out, as a report does.

    Attributes:
        data: A dictionary for each batch and input, for other tools to draw: `batch`, `time` (when
            the batch ended; of a checkpoint, when it began), `key` and `watermark`. A running query
            adds `max_event_time`, `late_rows` and `state_rows`, the latter two for all inputs
            together. A checkpoint adds `clock`, that of the split furthest ahead. Times are
            `datetime` in UTC, or None if a watermark is not defined yet.
    """

    def __init__(self, source: _Node, drawing: str) -> None:
        self._why = list(reason(source.get("why")))
        self._drawing = drawing
        self.data = _rows(source.get("history") or {})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the drawing to a file.

        Args:
            path: Of the file, which has SVG whatever its name is.
        """
        Path(path).write_text(self._drawing, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self._drawing

    def _repr_html_(self) -> str:
        why = in_words("\n".join(self._why)) if self._why else ""
        return why + within_a_page(self._drawing)

    def __str__(self) -> str:
        return "\n".join([*self._why, self._watermarks()])

    def _watermarks(self) -> str:
        if not self.data:
            return "no batch has ended"
        latest = {row["key"]: row["watermark"] for row in self.data}
        batches = len({row["batch"] for row in self.data})
        watermarks = ", ".join(f"{name_of(key)} {_shown(time)}" for key, time in latest.items())
        return f"{batches} batch{'' if batches == 1 else 'es'}, last watermarks: {watermarks}"

    # A prompt that cannot draw shows the words.
    __repr__ = __str__


def plot(
    query_or_checkpoint: StreamingQuery | str | os.PathLike[str],
    *,
    keys: str | Sequence[str] | None = None,
    since: datetime | None = None,
    spark: SparkSession | None = None,
) -> Plot:
    """Draws the watermarks of a query over time.

    A running query has its largest event times, late rows and rows in state too, for its whole run.
    Of a long run each line has at most 512 points. A checkpoint has the last hundred batches, also
    if the query does not run. Works on classic and Spark Connect.

    Args:
        query_or_checkpoint: The query, running or just stopped, or a checkpoint's location.
        keys: The inputs to draw, by their keys. None: all of them.
        since: Leaves out batches before this time. Without a time zone it is in the machine's own.
        spark: The session to ask. By default it is the query's own, or the active one.

    Returns:
        The plot, with no batches if the query has run none, or `spark.tidemark.history` is off.

    Raises:
        TidemarkError: `INVALID_OPTION`; what `report` or `watermark_log` raise.

    Example:
        >>> tidemark.plot("/checkpoints/orders").save("orders.svg")  # doctest: +SKIP
    """
    if since is not None and not isinstance(since, datetime):
        raise invalid_option("since", since, "a datetime, or None")
    wanted = [keys] if isinstance(keys, str) else keys
    if isinstance(query_or_checkpoint, (str, os.PathLike)):
        session = spark if spark is not None else _bridge.active_session()
        source = _of_checkpoint(query_or_checkpoint, session)
    else:
        session = spark if spark is not None else _bridge.session_of(query_or_checkpoint)
        source = dict(report(query_or_checkpoint, spark=spark).to_dict())
    history = source.get("history")
    if history:
        history = _only(history, wanted)
        source["history"] = history if since is None else _since(history, since)
    shown = {name: source[name] for name in _DRAWN if name in source}
    return Plot(shown, _bridge.drawn(session, json.dumps(shown)))


def _of_checkpoint(checkpoint: str | os.PathLike[str], session: SparkSession) -> _Node:
    from pyspark.sql import functions as F

    log = watermark_log(checkpoint, spark=session)
    rows = (
        log.groupBy("batch", "key")
        .agg(
            F.unix_millis(F.max("time")),
            F.unix_millis(F.max("watermark")),
            F.unix_millis(F.max("clock")),
        )
        .collect()
    )
    found = {(row[0], row[1]): row[2:] for row in rows}
    times = {row[0]: row[2] for row in rows}
    batches = sorted(times)
    batch, why = newest_reason(log)

    def column(key: str, number: int) -> list[int | None]:
        return [found[batch, key][number] if (batch, key) in found else None for batch in batches]

    return {
        "zone": _bridge.setting(session, "spark.sql.session.timeZone"),
        # After a correction, what an earlier batch said is no longer so.
        "why": why if batches and batch == batches[-1] else None,
        "history": {
            "batch": batches,
            "time_ms": [times[batch] for batch in batches],
            "inputs": [
                {"key": key, "watermark_ms": column(key, 1), "clock_ms": column(key, 2)}
                for key in sorted({row[1] for row in rows})
            ],
        },
    }


def _only(history: _Node, keys: Sequence[str] | None) -> _Node:
    if keys is None:
        return history
    inputs = {entry["key"]: entry for entry in history["inputs"]}
    for key in keys:
        if key not in inputs:
            raise invalid_option("keys", key, f"keys of the query: {', '.join(inputs)}")
    return {**history, "inputs": [inputs[key] for key in keys], "inputs_left_out": 0}


def _since(history: _Node, since: datetime) -> _Node:
    least = _millis(since.astimezone(timezone.utc))
    at = [n for n, time in enumerate(history["time_ms"]) if time >= least]

    def picked(values: Any) -> Any:
        return [values[n] for n in at] if isinstance(values, list) else values

    inputs = [{name: picked(of) for name, of in entry.items()} for entry in history["inputs"]]
    of_batches = {name: picked(of) for name, of in history.items() if name != "inputs"}
    return {**of_batches, "inputs": inputs, "batches": len(at)}


def _rows(history: _Node) -> list[_Node]:
    return [
        {
            "batch": batch,
            "time": _moment(history["time_ms"][n]),
            "key": entry["key"],
            **{
                name: _moment(entry[f"{name}_ms"][n]) for name in _OF_INPUT if f"{name}_ms" in entry
            },
            **{name: history[name][n] for name in _OF_BATCH if name in history},
        }
        for n, batch in enumerate(history.get("batch") or [])
        for entry in history["inputs"]
    ]


def _moment(millis: int | None) -> datetime | None:
    try:
        return None if millis is None else _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        # Spark's years go further than Python's.
        return None


def _shown(moment: datetime | None) -> str:
    return "undefined" if moment is None else moment.isoformat().replace("+00:00", "Z")


def _millis(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
