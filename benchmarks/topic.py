"""A mark log in a Kafka topic: how long noting a time takes, and reading many marks. Needs a broker, and no Spark."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import quantiles

from marks import EPOCH, WRITERS, position, position_text, timed

from kafka_broker.broker import broker
from kafka_broker.topic import make_topic
from tidemark.marks import Mark, Marks
from tidemark_marks._kafka.topic_text import encode_value, key_of

STREAM = "orders"


def topic(folder: Path, notes: int, million: float) -> None:
    """Prints the times of notes in a topic, and of reading this many million marks there."""
    with broker(folder / "kafka") as servers:
        _notes(servers, notes)
        _reads(servers, int(million * 1_000_000))


def _log(servers: str, name: str) -> Marks:
    make_topic(servers, name, 3)
    return Marks(f"kafka:{name}/{STREAM}", options={"bootstrap.servers": servers}, max_ahead=None)


def _notes(servers: str, notes: int) -> None:
    taken = []
    with _log(servers, "notes").writer("gateway-7") as writer:
        for number in range(notes):
            before = time.perf_counter()
            writer.note_time(EPOCH + number, position(number))
            taken.append(time.perf_counter() - before)
    percentiles = quantiles(taken, n=100)
    shown = ", ".join(f"p{p} {percentiles[p - 1] * 1000:.2f} ms" for p in (50, 90, 99))
    print(f"note_time in a topic, {notes} times: {shown}")


def _reads(servers: str, count: int) -> None:
    log = _log(servers, "reads")
    fill(servers, "reads", count)
    timed(f"read() of a topic, {count:,} marks of {WRITERS} writers", log.read)
    timed("read() again", log.read)
    timed("watermark()", log.watermark)


def fill(servers: str, name: str, count: int) -> None:
    """Writes marks of ten writers into a topic."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50})
    for number in range(count // WRITERS):
        at, text = EPOCH + number * 1000, position_text(number)
        for writer in range(WRITERS):
            mark = Mark(f"gateway-{writer}", EPOCH, number, "note", at, at, text)
            while True:
                try:
                    producer.produce(name, encode_value(mark), key_of(STREAM, mark.writer))
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.poll(0)
    producer.flush()
