"""One engine's worker: a process of its own, because extensions are set as a JVM begins.

Says on stdout how far it is; leaves what came of it in a file.

    python -m backlog.worker stock FOLDER files_per_airport WHERE-FROM
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from common.engines import Engine, engine_of
from common.folder import fast_folder
from common.session import session
from common.telling import leave, say_steps

from .case import Case
from .query import hourly
from .replay import replay


def main(case: Case, engine: Engine, folder: Path, source: str) -> None:
    """Reads the whole backlog with this engine."""
    jars = case.jars()
    with fast_folder(f"{case.name}-") as work:
        spark = session(engine, work, case.name, {"spark.jars": ",".join(jars)} if jars else {})
        counts = hourly(case.read(spark, source), case, engine)
        outcome = replay(spark, counts, work / "checkpoint", lambda: say_steps(1))
        spark.stop()
    leave(outcome.to_json(), engine, folder)


if __name__ == "__main__":
    named: Case = import_module(f"backlog.{sys.argv[3]}").CASE
    main(named, engine_of(sys.argv[1]), Path(sys.argv[2]), sys.argv[4])
