"""Asks a slow service about each departure in several ways; prints what each took and what the service saw.

python -m enrich
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from tqdm import tqdm

from common.folder import fast_folder, out_folder
from common.session import session
from common.workers import EXAMPLES

from . import flights
from .picture import draw
from .plan import Plan
from .runs import Outcome, run
from .table import lost, table
from .ways import BY_KEY, IN_FLIGHT, OURS, WAYS, Way

SETTINGS = {
    # PySpark warns in each task that it does not know pandas 3 yet.
    "spark.executorEnv.PYTHONWARNINGS": "ignore::FutureWarning",
    # For workers, which load the clients.
    "spark.executorEnv.PYTHONPATH": os.pathsep.join(
        filter(None, [str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
    ),
    "spark.sql.shuffle.partitions": "2",
}
PLAN = Plan()


def main() -> None:
    """Runs the query in each way, and prints a table.

    Raises:
        SystemExit: `map_async` has other rows than the truth, or more calls in flight than it may.
    """
    # PySpark does not know pandas 3 yet, and would infer from type hints what a function is.
    warnings.filterwarnings("ignore", module="pyspark")
    all_ = flights.departures()
    print(
        f"{len(all_):,} departures of {flights.DAYS} days, in {flights.BATCHES} batches. A service "
        f"answers after {1000 * PLAN.seconds:g} ms, and to one call of {PLAN.one_slow_of:,} after "
        f"{PLAN.slow_seconds:g} s.\nOne of {PLAN.one_failing_of} fails. With more than {PLAN.limit} "
        "in flight, it refuses.\n",
        flush=True,
    )
    given = {name: all_[:: way.share] for name, way in WAYS.items()}
    outcomes: dict[str, Outcome] = {}
    with fast_folder("enrich-") as folder:
        spark = session("tidemark", folder / "spark", "enrich", SETTINGS)
        # A query that fails is in the table.
        spark.sparkContext.setLogLevel("OFF")
        # The first query of a session is slower.
        _run(spark, folder / "warm-up", WAYS[BY_KEY], all_[:100])
        for number, name in enumerate(tqdm(WAYS, unit="way")):
            outcomes[name] = _run(spark, folder / str(number), WAYS[name], given[name])
        spark.stop()
    truths = {name: flights.truth(rows) for name, rows in given.items()}
    print("\n" + table(outcomes, truths))
    for name, outcome in outcomes.items():
        for failure in dict.fromkeys(outcome.failures):
            print(f"\n{name} failed: {failure}")
    out = out_folder("enrich")
    for picture in (out / "in-flight.png", out / "in-flight.svg"):
        draw(outcomes, PLAN, picture)
        print(f"\nThe picture: {picture}")
    _check(outcomes, truths)


def _run(
    spark: SparkSession, folder: Path, way: Way, departures: Sequence[flights.Departure]
) -> Outcome:
    flights.write(departures, folder / "in")
    session = spark.newSession()
    session.conf.set("spark.tidemark.enabled", str(way.is_ours).lower())
    return run(session, folder / "in", folder / "checkpoint", way, PLAN)


def _check(outcomes: Mapping[str, Outcome], truths: Mapping[str, flights.Counted]) -> None:
    wrong = [
        f"{name} has emitted other windows"
        for name, outcome in outcomes.items()
        if not outcome.failures and outcome.windows != truths[name]
    ]
    for name in OURS:
        outcome = outcomes[name]
        if outcome.failures or outcome.is_refused or lost(outcome, truths[name]):
            wrong.append(f"{name} has failed")
        if outcome.counts.most_in_flight > flights.FILES * IN_FLIGHT:
            wrong.append(f"{name} has had more calls in flight than it may")
    if outcomes[BY_KEY].counts.most_of_an_aircraft > 1:
        wrong.append(f"{BY_KEY} has had two calls for one aircraft in flight")
    if wrong:
        raise SystemExit("\n".join(["", *wrong]))


if __name__ == "__main__":
    main()
