"""The rows: departures of January 2001, out of the npm package ``vega-datasets``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from common.folder import ROOT

if TYPE_CHECKING:
    from pyarrow import Table

FILE = ROOT / "target" / "flights" / "flights-3m.parquet"
END = datetime(2001, 2, 1)


class Flight(NamedTuple):
    """One departure. The file has them in the order of their times, and so do we."""

    time: datetime
    origin: str
    destination: str
    delay: int

    def to_json(self) -> Mapping[str, Any]:
        return {**self._asdict(), "time": self.time.isoformat()}


def january() -> list[Flight]:
    """All departures of January 2001."""
    table = departures(["date", "origin", "destination", "delay"], END)
    values = (table[name].to_pylist() for name in table.column_names)
    return [Flight(*row) for row in zip(*values, strict=True)]


def departures(columns: list[str], end: datetime) -> Table:
    """Those columns of all departures from January 2001 to a time."""
    from pyarrow import parquet

    if not FILE.is_file():
        raise SystemExit(
            f"The flights are missing: there is no {FILE}. "
            f"Fix this by `make {FILE.relative_to(ROOT)}` or by starting the example with make."
        )
    return parquet.read_table(FILE, columns=columns, filters=[("date", "<", end)])


def busiest(flights: Iterable[Flight], many: int) -> list[str]:
    """The airports with the most departures, the busiest first."""
    counts = Counter(flight.origin for flight in flights)
    return [origin for origin, _ in counts.most_common(many)]
