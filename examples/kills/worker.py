"""Runs a query until it has come through its input, and leaves what it has put out: the one that is killed.

python -m kills.worker FOLDER PLAN SEED RUN [SERVERS]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from common.session import session

from . import inputs
from .history import history
from .lines import Lines
from .moments import SCANS
from .plans import PLANS
from .scans import scanned

SIDES = ("left", "right")


def main() -> None:
    """Makes the files, if they do not exist yet; starts the query, or continues it."""
    folder, plan, seed, run = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    servers = sys.argv[5] if len(sys.argv) > 5 else None
    settings = {}
    if servers:
        from kafka_broker.jars import connector_jars

        settings["spark.jars"] = ",".join(map(str, connector_jars()))
    spark = session("tidemark", folder / "work" / run, "kills", settings)
    here = folder / run
    if not servers and not (folder / SIDES[-1]).exists():
        for side, pieces in zip(SIDES, history(seed, plan), strict=True):
            inputs.write_files(spark, folder / side, pieces)
    most = inputs.MANY_PER_BATCH if plan == "many" else inputs.RECORDS_PER_BATCH
    spark.streams.addListener(Lines(here / SCANS, scanned))
    streams = [_stream(spark, folder, side, servers, most) for side in SIDES]
    query = (
        PLANS[plan](*streams)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(here / "checkpoint"))
        .start(str(here / "out"))
    )
    query.processAllAvailable()
    query.stop()
    rows = spark.read.parquet(str(here / "out")).collect()
    draft = here / ".rows"
    draft.write_text(json.dumps(sorted(str(tuple(row)) for row in rows)), encoding="utf-8")
    draft.rename(here / "rows.json")


def _stream(
    spark: SparkSession, folder: Path, side: str, servers: str | None, most: int
) -> DataFrame:
    if servers:
        return inputs.topic(spark, servers, f"{folder.name}-{side}", most)
    return inputs.files(spark, folder / side)


if __name__ == "__main__":
    main()
