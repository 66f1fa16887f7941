"""An auction house's persons, auctions and bids, after Nexmark: the same rows each time they are made.

Of 50 events one is a new person, three are new auctions, and 46 are bids. They come at an even pace, a batch every
`SECONDS`; one in ten comes later than its time by up to `LATEST` seconds.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from common.settings import with_settings

STREAMS = {"persons": "registered", "auctions": "opened", "bids": "bid_at"}
"""The streams, and the event-time column of each."""

SECONDS = 20
"""Event time between a batch and the next."""

LATEST = 3
"""Seconds that a row is behind its time at most."""

LONGEST = 10
"""Seconds that an auction is open at most."""

ENDING = 3600
"""Seconds between the last row and the one after it, which closes all that is open."""

_FIRST = {"persons": 0, "auctions": 1, "bids": 4}
_OF_50 = {"persons": 1, "auctions": 3, "bids": 46}
_BEGIN = 1_700_000_000
_WROTE_ALL = "READY"
_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"

# `event` is a row's number among all events as they come, and `moment` that of the one whose time `at` it has. Half of
# the rows refer to one person of the half second, `hot`; a `second` has so many events. Rows also refer to events from
# before the first one, which do not exist.
_COLUMNS = {
    "persons": (
        "event div 50 AS person",
        "'person-' || event div 50 AS name",
        "'person-' || event div 50 || '@example.com' AS email",
        "'city-' || {dice} % 1000 AS city",
        "array('AZ', 'CA', 'ID', 'OR', 'WA', 'WY')[{dice} % 6] AS state",
    ),
    "auctions": (
        "event div 50 * 3 + event % 50 - 1 AS id",
        "'item-' || {dice} % 100000 AS item",
        "100 + {dice} % 1000 AS initial",
        "2000 + {dice} % 1000 AS reserve",
        "10 + {dice} % 5 AS category",
        # Who came in the last five seconds.
        "if({dice} % 2 = 0, hot, (moment - {dice} % (5 * second)) div 50) AS seller",
        f"timestampadd(MICROSECOND, {{dice}} % {LONGEST * 1_000_000}, at) AS expires",
    ),
    "bids": (
        # What was opened in the last five seconds.
        "if({dice} % 2 = 0, hot, (moment - {dice} % (5 * second)) div 50) * 3 + {dice} % 3 AS auction",
        "if({dice} % 2 = 0, hot, (moment - {dice} % (5 * second)) div 50) AS bidder",
        "100 + shiftleft({dice} % 1000000, cast({dice} % 7 AS INT)) AS price",
        "'channel-' || {dice} % 100 AS channel",
        "'https://example.com/item?auction=' || {dice} % 100000 AS url",
    ),
}


@dataclass(frozen=True)
class Sizes:
    """How many batches, and events in each (a multiple of 50, over 100); one batch more, of a row a stream, ends it."""

    batches: int
    events: int

    def rows(self, *streams: str) -> int:
        """Rows of these streams, all batches together."""
        return self.batches * (self.events // 50) * sum(_OF_50[stream] for stream in streams)


def written(spark: SparkSession, sizes: Sizes, under: Path) -> Path:
    """A folder with a folder for each stream, a Parquet file for each of its batches; made if it does not exist."""
    made_by = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
    folder = under / f"{sizes.batches}x{sizes.events}-{made_by}"
    if not (folder / _WROTE_ALL).exists():
        shutil.rmtree(folder, ignore_errors=True)
        # The older kind of timestamps is slow to read.
        with with_settings(spark, {_TIMESTAMPS: "TIMESTAMP_MICROS"}):
            for stream in STREAMS:
                _write(spark, stream, sizes, folder / stream)
        (folder / _WROTE_ALL).touch()
    return folder


def _write(spark: SparkSession, stream: str, sizes: Sizes, folder: Path) -> None:
    rows = sizes.rows(stream)
    # A task writes one file.
    full = _rows(spark.range(0, rows, 1, sizes.batches), stream, sizes)
    ending = _rows(spark.range(rows, rows + 1, 1, 1), stream, sizes, ahead=ENDING)
    drafts = []
    for name, part in {"full": full, "ending": ending}.items():
        part.write.parquet(str(folder / name))
        drafts += sorted((folder / name).glob("*.parquet"))
    for batch, draft in enumerate(drafts):
        file = draft.rename(folder / f"{batch:04}.parquet")
        # The source takes them in the order of these times.
        os.utime(file, (_BEGIN + batch, _BEGIN + batch))
    for name in ("full", "ending"):
        shutil.rmtree(folder / name)


def _rows(ids: DataFrame, stream: str, sizes: Sizes, ahead: int = 0) -> DataFrame:
    of_50, second = _OF_50[stream], sizes.events // SECONDS
    event = f"id div {of_50} * 50 + id % {of_50} + {_FIRST[stream]} AS event"
    late = _dice(f"event - if({{dice}} % 10 = 0, {{dice}} % {LATEST * second}, 0) AS moment")
    at = f"timestamp_micros({(_BEGIN + ahead) * 1_000_000} + moment * 1000000 div {second}) AS at"
    hot = f"moment div {second // 2} * {second // 2} div 50 AS hot"
    moments = ids.selectExpr(event).selectExpr("*", late)
    timed = moments.selectExpr("*", at, hot, f"{second} AS second")
    columns = (_dice(column) for column in _COLUMNS[stream])
    return timed.selectExpr(*columns, f"at AS {STREAMS[stream]}")


def _dice(column: str) -> str:
    """Puts a number from 0 up for each `{dice}`, made from the event's number, the column's name and its place."""
    name, at = column.rsplit(" ", 1)[-1], count()
    thrown = "pmod(xxhash64(event, '{}', {}), 9223372036854775807)"
    return re.sub(r"{dice}", lambda _: thrown.format(name, next(at)), column)
