"""The query, as a user would write it: each departure with the next one from the same airport."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import StructType

import tidemark
from common.engines import Engine

if TYPE_CHECKING:
    import pandas as pd

DEPARTURES = "departure TIMESTAMP, origin STRING, flight STRING"
FLIGHT = "departure TIMESTAMP, flight STRING"
TRANSITIONS = "origin STRING, departure TIMESTAMP, flight STRING, next_departure TIMESTAMP, next_flight STRING"
DELAY = "90 minutes"
"""LaGuardia's hour, and half of one for the time between two steps."""


def transitions(spark: SparkSession, folder: str, engine: Engine) -> DataFrame:
    """Each departure with the one that the function saw next."""
    rows = spark.readStream.schema(DEPARTURES).json(folder)
    rows = rows.withWatermark("departure", DELAY)
    if engine == "tidemark":
        rows = tidemark.in_order(rows, "departure", by="origin", then="flight")
    return rows.groupBy("origin").transformWithStateInPandas(
        _next_flight(), TRANSITIONS, "Append", "None"
    )


def _next_flight() -> StatefulProcessor:
    names = StructType.fromDDL(TRANSITIONS).names

    # Within a function, so that workers get it as it is and need not import it.
    class NextFlight(StatefulProcessor):
        """Remembers the last departure from an airport."""

        def init(self, handle: Any) -> None:
            self.last = handle.getValueState("last", FLIGHT)

        def handleInputRows(  # noqa: N802 - Spark's name
            self, key: Any, rows: Iterator[pd.DataFrame], timer_values: Any
        ) -> Iterator[pd.DataFrame]:
            import pandas as pd

            last = self.last.get() if self.last.exists() else None
            found = []
            for frame in rows:
                for row in frame[["departure", "flight"]].itertuples(index=False):
                    now = (row.departure.to_pydatetime(), row.flight)
                    if last is not None:
                        found.append((key[0], *last, *now))
                    last = now
            self.last.update(last)
            yield pd.DataFrame(found, columns=names)

        def close(self) -> None:
            """There is nothing to close."""

    return NextFlight()
