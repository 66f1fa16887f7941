"""Sends a row in a transaction and writes the mark behind it, and waits before the commit: BROKERS."""

from __future__ import annotations

import sys
import threading

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

import tidemark

servers = sys.argv[1]
producer = Producer({"bootstrap.servers": servers, "transactional.id": "us"})
producer.init_transactions(60)
marks = tidemark.marks.Marks(
    "kafka:marks/orders", options={"bootstrap.servers": servers}, max_ahead=None
)
admin = AdminClient({"bootstrap.servers": servers})
writer = marks.kafka_writer(producer, "orders", "us", admin=admin)
producer.begin_transaction()
writer.produce(b"first", partition=0)
writer.commit_transaction(1)


class Stops:
    """The producer, whose commit never comes."""

    def __getattr__(self, name: str) -> object:
        return getattr(producer, name)

    def commit_transaction(self) -> None:
        print("written", flush=True)
        threading.Event().wait()


producer.begin_transaction()
writer.produce(b"second", partition=0)
writer._transaction._producer = Stops()
writer.commit_transaction(2)
