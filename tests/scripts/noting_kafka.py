"""A query that writes to Kafka and notes its time, killed again and again, against a real broker.

    noting_kafka.py FOLDER folder|topic

The marks are in a folder, or in a topic of the same broker.
"""

from __future__ import annotations

import json
import os
import random
import sys
from datetime import datetime, timezone
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.kafka_session import kafka_session
from support.processes import killed_once_there_is, result

import tidemark
from common.ending import clean_end
from kafka_broker.broker import broker
from kafka_broker.topic import make_topic

MINUTE = 60_000
START = int(datetime(2024, 1, 1, tzinfo=timezone.utc).timestamp()) * 1000
QUARTERS = 24
folder = Path(sys.argv[1])
in_topic = sys.argv[2] == "topic"
# A query that writes or reads Kafka takes its own brokers for the marks.
log = "kafka:tidemark-marks/quarters" if in_topic else str(folder / "log")


def first(spark: SparkSession, servers: str, *, ends: bool) -> None:
    """Counts the readings of each quarter of an hour, and writes the counts to Kafka."""
    rows = (
        spark.readStream.schema("time TIMESTAMP")
        .option("maxFilesPerTrigger", 1)
        .json(str(folder / "in"))
    )
    counts = (
        rows.withWatermark("time", "10 minutes").groupBy(F.window("time", "15 minutes")).count()
    )
    noted = tidemark.note_time(counts, "window", to=log)
    value = F.to_json(F.struct(F.unix_millis("window.end").alias("end"), "count"))
    writer = (
        noted.select(value.alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", "quarters")
        .option("checkpointLocation", str(folder / "first"))
    )
    query = (writer.trigger(availableNow=True) if ends else writer).start()
    query.awaitTermination()


def second(spark: SparkSession, servers: str) -> tuple[DataFrame, int]:
    """Reads with these marks as clocks: the rows of each hour, and how many of them were late."""
    rows = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", "quarters")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 5)
        .load()
    )
    parsed = rows.select(
        F.from_json(F.col("value").cast("string"), "end LONG, count LONG").alias("v")
    )
    timed = parsed.select(F.timestamp_millis("v.end").alias("end"), "v.count")
    # A copy of a row that was written again is left out.
    marked = tidemark.with_watermark(timed, "end", noted=log)
    query = (
        marked.dropDuplicates(["end"])
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "second"))
        .trigger(availableNow=True)
        .start(str(folder / "out"))
    )
    query.awaitTermination()
    late = sum(
        int(operator["numRowsDroppedByWatermark"])
        for progress in query.recentProgress
        for operator in progress["stateOperators"]
    )
    return spark.read.parquet(str(folder / "out")), late


def feed(quarter: int) -> None:
    rows = "\n".join(
        json.dumps({"time": (START + quarter * 15 * MINUTE + minute * MINUTE) // 1000})
        for minute in range(15)
    )
    file = folder / "in" / f"{quarter:03}.json"
    file.write_text(rows)
    # Spark reads files in the order of their times.
    os.utime(file, (START // 1000 + quarter, START // 1000 + quarter))


def killed(servers: str, after_commits: int) -> None:
    """Starts the first query in a process of its own, and kills it near a commit."""
    killed_once_there_is(
        folder / "first" / "commits" / str(after_commits),
        [sys.executable, __file__, str(folder), sys.argv[2], servers],
        later_seconds=random.Random(after_commits).random() / 20,
    )


def promises_broken(marks: tidemark.marks.Marks, rows: list[tuple[int, int, int]]) -> int:
    """How many rows are behind the position of a mark, and not later than its time."""
    broken = 0
    for mark in marks.read().marks:
        if mark.time_millis is not None and mark.position_text is not None:
            ends = json.loads(mark.position_text)["kafka"]["quarters"]
            broken += sum(
                offset >= ends[str(partition)] and end <= mark.time_millis
                for partition, offset, end in rows
            )
    return broken


def main(servers: str) -> None:
    make_topic(servers, "quarters", 2)
    if in_topic:
        make_topic(servers, "tidemark-marks", 2)
    (folder / "in").mkdir()
    for quarter in range(QUARTERS):
        feed(quarter)
    for commits in (4, 9, 14, 20):
        killed(servers, commits)
    spark = kafka_session()
    first(spark, servers, ends=True)
    written = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", "quarters")
        .load()
    )
    rows = [(row.partition, row.offset, json.loads(row.value)["end"]) for row in written.collect()]
    out, late = second(spark, servers)
    marks = tidemark.marks.Marks(log, options={"bootstrap.servers": servers} if in_topic else None)
    result(
        written=len(rows),
        distinct=len({end for _, _, end in rows}),
        broken=promises_broken(marks, rows),
        noted=marks.watermark().lower_millis - START,
        lives=len({mark.epoch for mark in marks.read().marks}),
        read=out.count(),
        late=late,
    )
    spark.stop()


with clean_end():
    if len(sys.argv) > 3:
        first(kafka_session(), sys.argv[3], ends=False)
    else:
        with broker(folder / "kafka") as running:
            main(running)
