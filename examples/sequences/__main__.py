"""Follows the departures of New York's airports for a day; prints how many transitions are wrong.

python -m sequences
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame
from tqdm import tqdm

from common.engines import ENGINES, NAMES, Engine
from common.folder import fast_folder
from common.session import session
from common.table import render

from . import query
from .flights import FILES, Departure, Transition, departures, files, truth

SETTINGS = {
    # PySpark warns in each task that it does not know pandas 3 yet.
    "spark.executorEnv.PYTHONWARNINGS": "ignore::FutureWarning",
    "spark.sql.shuffle.partitions": "2",
    # Spark has transformWithState on this state store alone.
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
    "RocksDBStateStoreProvider",
}
HEADINGS = ("query", "transitions", "wrong", "missing")
CAPTION = """
transitions  a departure, and the one from the same airport that the function saw next
wrong        the second one is not the next departure, by event time
missing      departures whose next one was never seen as such"""


def replay(arriving: Sequence[Sequence[Sequence[Departure]]]) -> dict[Engine, list[Transition]]:
    """What each engine has emitted."""
    found: dict[Engine, list[Transition]] = {}
    with fast_folder("sequences-") as folder:
        spark = session("tidemark", folder / "spark", "sequences", SETTINGS)
        for engine in ENGINES:
            found[engine] = []
            own_session = spark if engine == "tidemark" else spark.newSession()
            own_session.conf.set("spark.tidemark.enabled", str(engine == "tidemark").lower())
            _run(
                query.transitions(own_session, _made(folder / engine / "in"), engine),
                folder / engine,
                arriving,
                found[engine],
            )
        spark.stop()
    return found


def _made(folder: Path) -> str:
    folder.mkdir(parents=True)
    return str(folder)


def _run(
    transitions: DataFrame,
    folder: Path,
    arriving: Sequence[Sequence[Sequence[Departure]]],
    found: list[Transition],
) -> None:
    def keep(batch: DataFrame, _: int) -> None:
        for origin, *row in batch.collect():
            times = ((row[0], row[1]), (row[2], row[3]))
            found.append(tuple(Departure(at, origin, flight) for at, flight in times))

    writing = transitions.writeStream.foreachBatch(keep).outputMode("append")
    running = writing.option("checkpointLocation", str(folder / "checkpoint")).start()
    for number, step in enumerate(tqdm(arriving, desc=folder.name, unit="hour")):
        for place, rows in enumerate(step):
            _write(folder / "in", f"{number:03}-{place:02}.json", rows)
        running.processAllAvailable()
    running.stop()


def _write(folder: Path, name: str, rows: Sequence[Departure]) -> None:
    hidden = folder / f".{name}"
    hidden.write_text("".join(json.dumps(row.to_json()) + "\n" for row in rows), encoding="utf-8")
    os.rename(hidden, folder / name)


def main() -> None:
    """Replays the flights and prints what came of them.

    Raises:
        SystemExit: Tidemark has a transition that is wrong.
    """
    all_ = departures()
    steps = list(files(all_))
    print(
        f"{len(all_):,} departures of a day. Each hour an airport sends up to {FILES} files.\n"
        "LaGuardia's come an hour later.\n",
        flush=True,
    )
    found = replay(steps)
    expected = truth(all_)
    print(render(HEADINGS, [_line(engine, found[engine], expected) for engine in ENGINES]))
    print(CAPTION)
    wrong = _wrong(found["tidemark"], expected)
    if wrong or len(set(found["tidemark"])) != len(found["tidemark"]):
        raise SystemExit(f"\nThe query on Tidemark is wrong: {wrong[:5]}")


def _line(engine: Engine, found: Sequence[Transition], expected: set[Transition]) -> list[str]:
    counts = (len(found), len(_wrong(found, expected)), len(expected - set(found)))
    return [NAMES[engine], *(f"{count:,}" for count in counts)]


def _wrong(found: Sequence[Transition], expected: set[Transition]) -> list[Transition]:
    return [transition for transition in found if transition not in expected]


if __name__ == "__main__":
    main()
