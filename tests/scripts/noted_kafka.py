"""A query that goes by the marks of two writers of Kafka rows, with restarts, against a real broker."""

from __future__ import annotations

import random
import sys
from datetime import datetime, timezone
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from support.kafka_session import kafka_session
from support.processes import result
from support.streams import run_once

import tidemark
from common.ending import clean_end
from kafka_broker.broker import broker
from kafka_broker.topic import make_topic

MINUTE = 60_000
START = int(datetime(2024, 1, 1, tzinfo=timezone.utc).timestamp()) * 1000
folder = Path(sys.argv[1])
rng = random.Random(17)


def main(servers: str) -> None:
    spark = kafka_session()
    make_topic(servers, "orders", 3)
    marks = tidemark.Marks(folder / "_tidemark")
    admin = AdminClient({"bootstrap.servers": servers})
    rows = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 25)
        .load()
    )

    def counted(noted: bool) -> DataFrame:
        marked = (
            tidemark.with_watermark(rows, "timestamp", noted=marks)
            if noted
            else rows.withWatermark("timestamp", "0 seconds")
        )
        return (
            marked.groupBy(F.window("timestamp", "1 hour"))
            .count()
            .select(F.hour("window.start"), "count")
        )

    out: dict[str, list[list[int]]] = {"noted": [], "guessed": []}
    sent = 0
    producer = Producer({"bootstrap.servers": servers})
    with (
        marks.kafka_writer(producer, "orders", "eu", admin=admin) as eu,
        marks.kafka_writer(producer, "orders", "us", admin=admin) as us,
    ):
        for hour in range(6):
            # One writer is two hours behind the other, and rows of an hour come in any order.
            for writer, at in ((eu, hour + 2), (us, hour)):
                minutes = rng.sample(range(1, 60), 40)
                for minute in minutes:
                    time = START + at * 60 * MINUTE + minute * MINUTE
                    writer.produce(b"row", str(rng.random()), timestamp=time)
                sent += len(minutes)
                writer.note_time(START + (at + 1) * 60 * MINUTE)
            for name in out:
                out[name] += run_once(counted(name == "noted"), folder / name)
    # Spark plans nothing after a restart until there is a row.
    producer.produce("orders", b"row", timestamp=START + 12 * 60 * MINUTE)
    producer.flush()
    for name in out:
        out[name] += run_once(counted(name == "noted"), folder / name)
    totals = {name: sum(count for _, count in rows) for name, rows in out.items()}
    result(sent=sent, hours=sorted(hour for hour, _ in out["noted"]), **totals)
    spark.stop()


with clean_end(), broker(folder / "kafka") as running:
    main(running)
