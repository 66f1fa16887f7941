"""One engine's worker: a process of its own, because extensions are set as a JVM begins.

Says on stdout how far it is; leaves its outcomes in a file.

    python -m silence.worker stock FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from common.engines import Engine, engine_of
from common.folder import fast_folder
from common.session import session
from common.telling import leave, say_steps

from .replay import Replay
from .rules import Rule

RULES: dict[Engine, tuple[Rule, ...]] = {"stock": ("min", "max"), "tidemark": ("idle",)}
"""By which rules each engine can do it."""


def main(engine: Engine, folder: Path) -> None:
    """Replays by all rules that this engine has."""
    with fast_folder("silence-") as work:
        spark = session(engine, work, "silence")
        replays = [Replay(spark, engine, rule, work) for rule in RULES[engine]]
        outcomes = [replay.play(lambda: say_steps(1)) for replay in replays]
        spark.stop()
    leave([outcome.to_json() for outcome in outcomes], engine, folder)


if __name__ == "__main__":
    main(engine_of(sys.argv[1]), Path(sys.argv[2]))
