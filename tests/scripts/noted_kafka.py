"""A query that uses the marks of two writers of Kafka rows, with restarts, against a real broker.

    noted_kafka.py FOLDER [topic]

With `topic`, the marks are in Kafka too, and one of the writers has them in the transactions of its rows.
"""

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
in_topic = sys.argv[2:] == ["topic"]
rng = random.Random(17)


def log(servers: str) -> tidemark.marks.Marks:
    """The mark log: a folder, or a topic of two partitions."""
    if not in_topic:
        return tidemark.marks.Marks(folder / "_tidemark")
    make_topic(servers, "tidemark-marks", 2)
    return tidemark.marks.Marks(
        "kafka:tidemark-marks/orders", options={"bootstrap.servers": servers}
    )


def main(servers: str) -> None:
    spark = kafka_session()
    make_topic(servers, "orders", 3)
    marks = log(servers)
    # Spark reads the topic on the brokers of the orders.
    where = marks.location if in_topic else marks
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
            tidemark.with_watermark(rows, "timestamp", noted=where)
            if noted
            else rows.withWatermark("timestamp", "0 seconds")
        )
        return (
            marked.groupBy(F.window("timestamp", "1 hour"))
            .count()
            .select(F.hour("window.start"), "count")
        )

    one_clock = [
        noted
        for noted in (True, False)
        for finding in tidemark.explain(counted(noted)).findings
        if finding.code == "KAFKA_ONE_CLOCK"
    ]
    out: dict[str, list[list[int]]] = {"noted": []}
    if not in_topic:
        out["guessed"] = []
    sent = 0
    producer = Producer({"bootstrap.servers": servers})
    in_transactions = producer
    if in_topic:
        in_transactions = Producer({"bootstrap.servers": servers, "transactional.id": "us"})
        in_transactions.init_transactions(60)
    with (
        marks.kafka_writer(producer, "orders", "eu", admin=admin) as eu,
        marks.kafka_writer(in_transactions, "orders", "us", admin=admin) as us,
    ):
        for hour in range(6):
            # One writer is two hours behind the other, and rows of an hour come in any order.
            for writer, at in ((eu, hour + 2), (us, hour)):
                minutes = rng.sample(range(1, 60), 40)
                is_transaction = in_topic and writer is us
                if is_transaction:
                    in_transactions.begin_transaction()
                for minute in minutes:
                    time = START + at * 60 * MINUTE + minute * MINUTE
                    writer.produce(b"row", str(rng.random()), timestamp=time)
                sent += len(minutes)
                note = writer.commit_transaction if is_transaction else writer.note_time
                note(START + (at + 1) * 60 * MINUTE)
            for name in out:
                out[name] += run_once(counted(name == "noted"), folder / name)
        eu.end()
        us.end()
    # Spark plans nothing after a restart until there is a row.
    producer.produce("orders", b"row", timestamp=START + 12 * 60 * MINUTE)
    producer.flush()
    for name in out:
        out[name] += run_once(counted(name == "noted"), folder / name)
    totals = {name: sum(count for _, count in rows) for name, rows in out.items()}
    result(one_clock=one_clock, sent=sent, hours=sorted(hour for hour, _ in out["noted"]), **totals)
    spark.stop()


with clean_end(), broker(folder / "kafka") as running:
    main(running)
