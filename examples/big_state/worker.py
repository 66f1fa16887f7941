"""One engine's worker: a process of its own, because extensions are set as a JVM begins.

python -m big_state.worker stock FOLDER INPUTS-FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from common.engines import Engine, engine_of
from common.folder import fast_folder
from common.session import session
from common.telling import leave, say_steps

from .query import monthly
from .replay import replay

STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def main(engine: Engine, folder: Path, inputs: Path) -> None:
    """Takes all inputs with this engine."""
    with fast_folder("big-state-") as work:
        spark = session(
            engine, work, "big-state", {"spark.sql.streaming.stateStore.providerClass": STORE}
        )
        shown = work / "shown"
        shown.mkdir()
        files = sorted(inputs.glob("*.parquet"))
        outcome = replay(
            monthly(spark, shown), files, shown, work / "checkpoint", lambda: say_steps(1)
        )
        spark.stop()
    leave(outcome.to_json(), engine, folder)


if __name__ == "__main__":
    main(engine_of(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
