"""The three programs of a chain, which are killed: the writers, the first query and the second one.

python -m kills.chain_worker FOLDER SEED ROLE [SERVERS]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress

import tidemark
from common.session import session

from . import chain_rows, chain_writers
from .chain_writers import PIECES, STOP, logs
from .lines import Lines

ROW = "number LONG, id LONG, at TIMESTAMP"
COUNT = "end TIMESTAMP, id LONG, rows LONG"
OUT = "start LONG, id LONG, rows LONG"
TRIGGER = "500 milliseconds"
LATE = "late.txt"
"""A line for each batch that has ended: how many of its rows were late by a mark."""


def _late(progress: StreamingQueryProgress) -> str:
    seen = progress.observedMetrics.get("tidemark")
    return str(seen["promises_broken"] if seen else 0)


def main() -> None:
    """Begins, or goes on."""
    folder, seed, role = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    servers = sys.argv[4] if len(sys.argv) > 4 else None
    if role == "writers":
        chain_writers.write(folder, seed, servers)
        return
    settings = {}
    if servers:
        from kafka_broker.jars import connector_jars

        settings["spark.jars"] = ",".join(map(str, connector_jars()))
    spark = session("tidemark", folder / "work" / role, "kills", settings)
    spark.streams.addListener(Lines(folder / f"{role}-{LATE}", _late))
    {"first": _first, "second": _second}[role](spark, folder, servers)


def _source(
    spark: SparkSession, folder: Path, name: str, schema: str, servers: str | None
) -> DataFrame:
    """The rows of JSON that were sent, or that the first query has written."""
    if servers:
        reader = spark.readStream.format("kafka").options(
            **{
                "kafka.bootstrap.servers": servers,
                # A piece in a transaction that was aborted is sent again.
                "kafka.isolation.level": "read_committed",
                "subscribe": f"{folder.name}-{name}",
            },
            startingOffsets="earliest",
            maxOffsetsPerTrigger=60,
        )
        value = F.from_json(F.col("value").cast("string"), schema)
        return reader.load().select(value.alias("row")).select("row.*")
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 20)
    return reader.json(str(folder / name)) if name == "in" else reader.parquet(str(folder / name))


def _first(spark: SparkSession, folder: Path, servers: str | None) -> None:
    rows = _source(spark, folder, "in", ROW.replace("TIMESTAMP", "LONG"), servers)
    rows = rows.withColumn("at", F.timestamp_seconds("at"))
    read_log, written_log = logs(folder, servers)
    rows = tidemark.with_watermark(rows, "at", noted=read_log)
    if servers:
        # A writer that is killed sends a piece again.
        rows = rows.dropDuplicates(["number", "at"])
    window = F.window("at", f"{chain_rows.FIRST} seconds")
    counts = rows.groupBy(window, "id").agg(F.count("*").alias("rows"))
    out = tidemark.note_time(counts, "window", to=written_log, writer="first")
    out = out.select(F.col("window.end").alias("end"), "id", "rows")
    if servers:
        value = F.to_json(F.struct(F.unix_seconds("end").alias("end"), "id", "rows"))
        options = {"kafka.bootstrap.servers": servers, "topic": f"{folder.name}-mid"}
        _run(out.select(value.alias("value")), folder, "first", "kafka", options)
    else:
        _run(out, folder, "first", "parquet", {"path": str(folder / "mid")})


def _second(spark: SparkSession, folder: Path, servers: str | None) -> None:
    schema = COUNT.replace("TIMESTAMP", "LONG") if servers else COUNT
    rows = _source(spark, folder, "mid", schema, servers)
    if servers:
        rows = rows.withColumn("end", F.timestamp_seconds("end"))
    rows = tidemark.with_watermark(rows, "end", noted=logs(folder, servers)[1])
    if servers:
        # A batch of the first query that is killed is written again.
        rows = rows.dropDuplicates(["end", "id"])
    window = F.window("end", f"{chain_rows.SECOND} seconds")
    counts = rows.groupBy(window, "id").agg(F.sum("rows").alias("rows"))
    out = counts.select(F.unix_seconds("window.start").alias("start"), "id", "rows")
    out_folder = folder / "out"
    _run(
        out,
        folder,
        "second",
        "parquet",
        {"path": str(out_folder)},
        lambda: _tell(spark, folder, out_folder),
    )


def _run(
    df: DataFrame,
    folder: Path,
    role: str,
    sink: str,
    options: dict[str, str],
    look: Callable[[], None] = lambda: None,
) -> None:
    query = (
        df.writeStream.format(sink)
        .options(**options)
        .option("checkpointLocation", str(folder / role))
        .trigger(processingTime=TRIGGER)
        .start()
    )
    while not (folder / f"{STOP}-{role}").exists():
        query.awaitTermination(1)
        look()
    query.stop()


def _tell(spark: SparkSession, folder: Path, out: Path) -> None:
    """Leaves what has come out, once all writers have stopped."""
    if not (folder / PIECES).exists() or not (out / "_spark_metadata").exists():
        return
    found = [tuple(row) for row in spark.read.schema(OUT).parquet(str(out)).collect()]
    draft = folder / ".rows"
    draft.write_text(json.dumps(sorted(found)), encoding="utf-8")
    draft.rename(folder / "rows.json")


if __name__ == "__main__":
    main()
